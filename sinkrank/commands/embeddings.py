"""`sinkrank embeddings`: makes and shows embedding stores."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reranker.service.settings import Settings
from sinkrank.commands import fetch
from sinkrank.commands.embeddings_prepare import prepare
from sinkrank.console import options, output
from sinkrank.console.embedding_options import GroupField, MaxTerms, Replace, show_summary

if TYPE_CHECKING:
    from reranker.embeddings import Embeddings

app = typer.Typer(no_args_is_help=True, help="Make and show word embeddings.", rich_markup_mode="rich")


app.command()(prepare)


@app.command("import")
@options.takes_settings("home", embeddings=options.NewStore)
def import_(
    settings: Settings,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Plain or compressed; fr=FILE names the language of a file."),
    ],
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="CODE",
            help="Language of files that name none; the only language to keep of a file in many languages.",
        ),
    ] = None,
    max_terms: MaxTerms = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Import published vectors into an embedding store: word2vec, GloVe, fastText, Numberbatch, MUSE.

    The languages must share one space, as aligned fastText, MUSE and Numberbatch do.

    Example: [bold]sinkrank embeddings import en=wiki.multi.en.vec fr=wiki.multi.fr.vec --max-terms 200000[/bold]
    """
    from ingest.embeddings.importing import import_embeddings
    from ingest.embeddings.selection import VectorSource

    sources = [VectorSource(path, language) for path, language in (_named_file(file, lang) for file in files)]
    with output.progress_bars() as progress:
        summary = import_embeddings(
            sources,
            settings.embeddings_path,
            replace=replace,
            max_terms_per_language=max_terms,
            progress=progress,
        )
    show_summary(summary, json_)


def _named_file(file: str, lang: str | None) -> tuple[Path, str | None]:
    """The path and the language of a FILE argument. `fr=FILE` names a language unless a file of this name exists."""
    prefix, separator, rest = file.partition("=")
    if separator and rest and prefix.isalpha() and not Path(file).exists():
        return Path(rest), prefix
    return Path(file), lang


app.command("fetch")(fetch.fetch)


@app.command()
@options.takes_settings("home", embeddings=options.NewStore)
def train(
    settings: Settings,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Documents: files as for ingest, or URL/INDEX.", show_default=False),
    ],
    group_field: GroupField = None,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="CODE",
            help="Language to train, and that of documents that name none; auto detects and trains all.",
        ),
    ] = None,
    text_field: options.TextField = None,
    title_field: options.TitleField = None,
    language_field: options.LanguageField = None,
    dim: Annotated[int, typer.Option("--dim", min=1, help="Dimensions of an embedding.")] = 300,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Train embeddings on your own documents.

    Documents in one language are enough. Several languages need documents that are translations of each other and have
    the same value in the field group.

    Example: [bold]sinkrank embeddings train articles.jsonl --lang en --output my-embeddings[/bold]

    Several languages: [bold]sinkrank embeddings train pages.jsonl --group-field page[/bold]
    """
    from ingest.documents import DETECTED, Layout
    from ingest.embeddings.preparing.run import train_alone
    from reranker.embeddings import check_output
    from sinkrank.actions import preparing
    from sinkrank.console.document_sources import short_name

    check_output(settings.embeddings_path, replace=replace)
    layout = Layout(
        language_field=language_field, title_field=title_field, text_field=text_field, default_language=lang
    )
    with preparing.work_folder(settings) as folder, output.progress_bars() as progress:
        texts = preparing.read_documents(files, None, layout, group_field, settings, folder, progress)
        summary = train_alone(
            texts,
            settings.embeddings_path,
            None if layout.default_language == DETECTED else layout.default_language,
            dim=dim,
            source=list(map(short_name, files)),
            replace=replace,
            progress=progress,
        )
    show_summary(summary, json_)


@app.command()
@options.takes_settings("home")
def show(
    settings: Settings,
    store: Annotated[
        Path | None,
        typer.Argument(metavar="STORE", help="Embedding store; default: HOME/embeddings.", show_default=False),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Show the nearest words of these; case does not matter."),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="CODE", help="Language of the words; default: each language that has them."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Language of the nearest words; default: any.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, max=1000, help="Number of nearest words.")] = 10,
    json_: options.Json = False,
) -> None:
    """Show what an embedding store holds, or the words with the highest cosine to a word.

    Example: [bold]sinkrank embeddings show[/bold]

    Nearest words: [bold]sinkrank embeddings show .sinkrank/embeddings table chair --to fr[/bold]
    """
    from reranker.text.languages import language_code
    from sinkrank.console import resources

    for option, value in (("--lang", lang), ("--to", to)):
        if value is not None and not words:
            raise typer.BadParameter("it needs a WORD after the STORE", param_hint=option)
    language, target = (None if code is None else language_code(code) for code in (lang, to))
    if store is not None and not store.exists() and not words and settings.embeddings_path.exists():
        cure = shlex.join(["sinkrank", "embeddings", "show", str(settings.embeddings_path), str(store)])
        raise typer.BadParameter(
            f"there is no store at {store}; for a word's nearest words: {cure}", param_hint="STORE"
        )
    opened = resources.open_embeddings(settings if store is None else settings.model_copy(update={"embeddings": store}))
    if words:
        _show_nearest(
            [_nearest(opened, word, code, target, n) for word, code in _asked(opened, words, language)], json_
        )
    else:
        _show_facts(opened, json_)


def _asked(store: Embeddings, words: Sequence[str], language: str | None) -> list[tuple[str, str]]:
    """Each word with each language that is meant.

    Raises:
        UnknownWords: no language has the word.
    """
    return [(word, code) for word in words for code in ([language] if language else store.languages_of(word))]


def _nearest(store: Embeddings, word: str, language: str, target: str | None, n: int) -> dict[str, Any]:
    from reranker.text.normalization import as_written

    found = store.nearest(word, language, target, n)
    nearest = [
        {"word": as_written(term, code), "language": code, "cosine": round(cosine, 6)} for code, term, cosine in found
    ]
    return {"word": word, "language": language, "nearest": nearest}


def _show_nearest(found: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        output.print_json({"words": found})
        return
    for each in found:
        table = output.table("word", "lang", "cosine", title=f"nearest to {each['word']} ({each['language']})")
        for other in each["nearest"]:
            table.add_row(other["word"], other["language"], f"{other['cosine']:.4f}")
        output.results().print(table)


def _show_facts(store: Embeddings, as_json: bool) -> None:
    facts = _facts(store)
    if as_json:
        output.print_json(facts)
        return
    languages = ", ".join(f"{language} {n:,}" for language, n in facts["languages"].items())
    console = output.results()
    console.print(f"{facts['path']}, version {facts['version']}", soft_wrap=True)
    console.print(f"{facts['n_terms']:,} terms of {facts['dim']} dimensions: {languages}")
    counted = facts["n_documents"]
    trained = ", ".join(f"{language} {n:,}" for language, n in counted.items()) if counted else "not counted"
    console.print(f"texts with document frequencies: {trained}")
    for name, languages in facts["query_encoders"].items():
        console.print(f"queries in {', '.join(languages)} are encoded by {name}")


def _facts(store: Embeddings) -> dict[str, Any]:
    return {
        "path": str(store.path),
        "version": store.version,
        "dim": store.dim,
        "n_terms": store.n_terms,
        "languages": dict(store.meta["languages"]),
        "n_documents": store.meta["n_documents"],
        "source": store.meta["source"],
        "query_encoders": {encoder.model.name: list(encoder.model.languages) for encoder in store.query_encoders},
    }
