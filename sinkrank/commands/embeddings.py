"""`sinkrank embeddings`: makes, combines and shows embedding stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reranker.service.settings import Settings
from sinkrank.commands import embedding_spaces, fetch
from sinkrank.commands.embeddings_prepare import prepare
from sinkrank.console import options
from sinkrank.console.document_sources import opened_records, short_name, usable
from sinkrank.console.embedding_options import (
    MAKES_STORE,
    Dictionaries,
    GroupField,
    LanguageField,
    Replace,
    TextField,
    TitleField,
    check_has_collection,
    open_dictionaries,
    show_summary,
)
from sinkrank.console.vocabulary_options import (
    Collection,
    MaxTerms,
    MinCount,
    Vocabulary,
    import_sources,
    named_file,
)

if TYPE_CHECKING:
    from reranker.embeddings import Embeddings

app = typer.Typer(no_args_is_help=True, help="Make, combine and show word embeddings.", rich_markup_mode="rich")


app.command()(prepare)


@app.command("import")
@options.takes_settings(*MAKES_STORE)
def import_(
    settings: Settings,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Plain, gzipped or zipped; fr=FILE names the language of a file."),
    ],
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="CODE",
            help="Language of files that name none; the only language to keep of a file in many languages.",
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="word2vec, word2vec-binary, fasttext, muse, numberbatch or glove; default: detected.",
        ),
    ] = None,
    max_terms: MaxTerms = None,
    vocabulary: Vocabulary = None,
    min_count: MinCount = None,
    collection: Collection = None,
    text_field: TextField = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Import published vectors into an embedding store: word2vec, GloVe, fastText, Numberbatch, MUSE.

    The languages must share one space, as aligned fastText, MUSE and Numberbatch do.

    Example: [bold]sinkrank embeddings import en=wiki.multi.en.vec fr=wiki.multi.fr.vec --max-terms 200000[/bold]
    """
    from ingest.embeddings.selection import Source
    from reranker.embeddings import check_output
    from sinkrank.console import output as shown

    check_has_collection(collection, "--text-field", text_field)
    sources = [Source(path, language, file_format) for path, language in (named_file(file, lang) for file in files)]
    check_output(settings.embeddings_path, replace=replace)
    with shown.progress_bars() as progress:
        summary = import_sources(
            sources,
            settings,
            progress,
            lang=lang,
            max_terms=max_terms,
            vocabulary=vocabulary,
            min_count=min_count,
            collection=collection,
            text_field=text_field,
            replace=replace,
        )
    show_summary(summary, json_)


app.command("fetch")(fetch.fetch)


@app.command()
@options.takes_settings(*MAKES_STORE)
def train(
    settings: Settings,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Documents: files as for ingest, or URL/INDEX.", show_default=False),
    ] = None,
    group_field: GroupField = None,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="CODE",
            help="Language of documents that name none, and the only one to train; auto detects and trains all.",
        ),
    ] = None,
    text_field: Annotated[
        str | None,
        typer.Option("--text-field", metavar="NAME", help="Text field; default: text, body, contents or content."),
    ] = None,
    title_field: TitleField = None,
    language_field: LanguageField = None,
    dictionary: Dictionaries = None,
    dim: Annotated[int, typer.Option("--dim", min=1, help="Dimensions of an embedding.")] = 300,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Train embeddings on your own documents.

    Documents in one language are enough. Several languages need documents that are translations of each other and have
    the same value in the field group, or dictionaries.

    Example: [bold]sinkrank embeddings train articles.jsonl --lang en --output my-embeddings[/bold]

    Several languages: [bold]sinkrank embeddings train pages.jsonl --group-field page --dictionary en-fr[/bold]
    """
    from ingest.documents import DETECTED, Layout
    from ingest.embeddings.document_units import Unusable
    from ingest.embeddings.training import train_documents
    from reranker.embeddings import check_output
    from sinkrank.console import output as shown

    if not files and not dictionary:
        raise typer.BadParameter("name at least one file of documents, or a --dictionary", param_hint="FILE...")
    check_output(settings.embeddings_path, replace=replace)
    layout = Layout(
        language_field=language_field, title_field=title_field, text_field=text_field, default_language=lang
    ).checked()
    unusable = Unusable()
    with shown.progress_bars() as progress:
        dictionaries = open_dictionaries(dictionary or [], settings.home, progress)
        with opened_records(files or [], layout, settings, progress) as records:
            summary = train_documents(
                usable(records, unusable),
                settings.embeddings_path,
                group_field=group_field,
                dictionaries=dictionaries,
                unusable=unusable,
                dim=dim,
                language=None if layout.default_language == DETECTED else layout.default_language,
                replace=replace,
                source=[*map(short_name, files or []), *(each.name for each in dictionaries)],
                progress=progress,
            )
    show_summary(summary, json_)


for _command in (embedding_spaces.build, embedding_spaces.extend, embedding_spaces.align, embedding_spaces.join):
    app.command(rich_help_panel="For experts")(_command)


@app.command()
@options.takes_settings("home", "embeddings")
def info(
    settings: Settings,
    verify: Annotated[bool, typer.Option("--verify", help="Also check the digests of all files.")] = False,
    json_: options.Json = False,
) -> None:
    """Show what an embedding store holds.

    Example: [bold]sinkrank embeddings info --json[/bold]
    """
    from sinkrank.console import output, resources

    store = resources.open_embeddings(settings)
    if verify:
        store.verify()
    facts = _facts(store)
    if json_:
        output.print_json(facts)
        return
    languages = ", ".join(f"{language} {n:,}" for language, n in facts["languages"].items())
    console = output.results()
    console.print(f"{facts['path']}, version {facts['version']}", markup=False, soft_wrap=True)
    console.print(f"{facts['n_terms']:,} terms of {facts['dim']} dimensions: {languages}", markup=False)
    counted = facts["n_documents"]
    trained = ", ".join(f"{language} {n:,}" for language, n in counted.items()) if counted else "not counted"
    console.print(f"texts with document frequencies: {trained}", markup=False)
    for name, languages in facts["query_encoders"].items():
        console.print(f"queries in {', '.join(languages)} are encoded by {name}", markup=False)


@app.command()
@options.takes_settings("home", "embeddings")
def nearest(
    settings: Settings,
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word; case does not matter.")],
    lang: Annotated[str, typer.Option("--lang", metavar="CODE", help="The word's language.")],
    to: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Language of the neighbours; default: any.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, max=1000, help="Number of neighbours.")] = 10,
    json_: options.Json = False,
) -> None:
    """Show the words with the highest cosine to a word.

    Example: [bold]sinkrank embeddings nearest table --lang en --to fr[/bold]
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from reranker.text.languages import language_code
    from reranker.text.normalization import as_written
    from sinkrank.console import output, resources

    language, target = language_code(lang), language_code(to) if to is not None else None
    store = resources.open_embeddings(settings)
    found = [(code, as_written(term, code), cosine) for code, term, cosine in store.nearest(word, language, target, n)]
    if json_:
        neighbours = [{"word": term, "language": code, "cosine": round(cosine, 6)} for code, term, cosine in found]
        output.print_json({"word": word, "language": language, "nearest": neighbours})
        return
    table = Table("word", "lang", "cosine", box=box.SIMPLE_HEAD, pad_edge=False)
    for code, term, cosine in found:
        table.add_row(Text(term), code, f"{cosine:.4f}")
    output.results().print(table)


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
