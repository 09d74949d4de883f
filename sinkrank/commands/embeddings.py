"""`sinkrank embeddings`: import, train, look at and ask an embedding store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sinkrank import options

if TYPE_CHECKING:
    from ingest.embeddings.summary import Summary
    from reranker.embeddings import Embeddings

app = typer.Typer(no_args_is_help=True, help="Import, train and look at word embeddings.", rich_markup_mode="rich")

_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Embedding store to make (default: HOME/embeddings)."),
]
_Replace = Annotated[bool, typer.Option("--replace", help="Put it in the place of a store that is there.")]


@app.command("import")
def import_(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Plain, gzipped or zipped; fr=FILE gives its language to one file."),
    ],
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="CODE",
            help="Language of the files without one; of files in many languages the only one to take.",
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="word2vec, word2vec-binary, fasttext, muse, numberbatch, glove (default: seen from the contents).",
        ),
    ] = None,
    max_terms: Annotated[
        int | None,
        typer.Option("--max-terms", min=1, help="The most frequent words to keep of each language (default: all)."),
    ] = None,
    output: _Output = None,
    replace: _Replace = False,
    json_: options.Json = False,
    home: options.Home = None,
    config: options.Config = None,
) -> None:
    """Make an embedding store of published files: word2vec, GloVe, fastText, Numberbatch, MUSE.

    The languages must share one space, as aligned fastText, MUSE and Numberbatch do.

    Example: [bold]sinkrank embeddings import en=wiki.multi.en.vec fr=wiki.multi.fr.vec --max-terms 200000[/bold]
    """
    from ingest.embeddings.importing import Source, import_embeddings
    from sinkrank import output as shown

    settings = options.load(config, home=home, embeddings=output).settings
    sources = [Source(path, language, file_format) for path, language in (_named(file, lang) for file in files)]
    with shown.progress_bars() as progress:
        summary = import_embeddings(
            sources,
            settings.embeddings_path,
            replace=replace,
            max_terms_per_language=max_terms,
            progress=progress,
        )
    _show_summary(summary, json_)


@app.command()
def train(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help='JSONL of aligned texts: {"group": "p1", "language": "fr", "text": "…"}.'),
    ],
    dim: Annotated[int, typer.Option("--dim", min=1, help="Dimensions of an embedding.")] = 300,
    output: _Output = None,
    replace: _Replace = False,
    json_: options.Json = False,
    home: options.Home = None,
    config: options.Config = None,
) -> None:
    """Make cross-lingual embeddings of aligned texts: those of one group are translations of each other.

    Example: [bold]sinkrank embeddings train aligned.jsonl --dim 300 --output my-embeddings[/bold]
    """
    from ingest.embeddings.training import train as run
    from sinkrank import output as shown

    settings = options.load(config, home=home, embeddings=output).settings
    with shown.progress_bars() as progress:
        summary = run(file, settings.embeddings_path, dim=dim, replace=replace, progress=progress)
    _show_summary(summary, json_)


@app.command()
def info(
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    config: options.Config = None,
) -> None:
    """Show what an embedding store holds.

    Example: [bold]sinkrank embeddings info --json[/bold]
    """
    from sinkrank import output, resources

    store = resources.open_embeddings(options.load(config, home=home, embeddings=embeddings).settings)
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


@app.command()
def nearest(
    word: Annotated[str, typer.Argument(help="A word; case does not matter.")],
    lang: Annotated[str, typer.Option("--lang", metavar="CODE", help="The word's language.")],
    to: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Language of the neighbours (default: any).")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, max=1000, help="How many.")] = 10,
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    config: options.Config = None,
) -> None:
    """Show the words of the highest cosine with a word.

    Example: [bold]sinkrank embeddings nearest table --lang en --to fr[/bold]
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from reranker.languages import language_code
    from reranker.tokens import as_written
    from sinkrank import output, resources

    language, target = language_code(lang), language_code(to) if to is not None else None
    store = resources.open_embeddings(options.load(config, home=home, embeddings=embeddings).settings)
    found = [(code, as_written(term, code), cosine) for code, term, cosine in store.nearest(word, language, target, n)]
    if json_:
        neighbours = [{"word": term, "language": code, "cosine": round(cosine, 6)} for code, term, cosine in found]
        output.print_json({"word": word, "language": language, "nearest": neighbours})
        return
    table = Table("word", "lang", "cosine", box=box.SIMPLE_HEAD, pad_edge=False)
    for code, term, cosine in found:
        table.add_row(Text(term), code, f"{cosine:.4f}")
    output.results().print(table)


def _named(file: str, lang: str | None) -> tuple[Path, str | None]:
    """The path and the language of a FILE argument; `fr=FILE` is read so unless a file of that very name is there."""
    prefix, separator, rest = file.partition("=")
    if separator and rest and prefix.isalpha() and not Path(file).exists():
        return Path(rest), prefix
    return Path(file), lang


def _facts(store: Embeddings) -> dict[str, Any]:
    return {
        "path": str(store.path),
        "version": store.version,
        "dim": store.dim,
        "n_terms": store.n_terms,
        "languages": dict(store.meta["languages"]),
        "n_documents": store.meta["n_documents"],
        "source": store.meta["source"],
    }


def _show_summary(summary: Summary, as_json: bool) -> None:
    """What was made and what was left out; what the user should know of it on standard error."""
    from dataclasses import asdict

    from sinkrank import output

    for warning in summary.warnings:
        typer.echo(f"sinkrank: {warning}", err=True)
    if as_json:
        output.print_json(asdict(summary) | {"output": str(summary.output), "seconds": round(summary.seconds, 3)})
        return
    console = output.results()
    languages = ", ".join(f"{language} {n:,}" for language, n in summary.languages.items())
    console.print(
        f"{summary.output}: {sum(summary.languages.values()):,} terms of {summary.dim} dimensions ({languages}), "
        f"version {summary.version}, in {summary.seconds:.1f} s",
        markup=False,
        soft_wrap=True,
    )
    for reason, n in summary.skipped.items():
        console.print(f"left out: {n:,} {reason}", markup=False, soft_wrap=True)
