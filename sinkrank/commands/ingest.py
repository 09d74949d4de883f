"""`sinkrank ingest`: files into an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sinkrank import options

if TYPE_CHECKING:
    from ingest.pipeline import Summary

DEFAULT_INDEX = "documents"

_FIELDS = "Fields"


def ingest(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="JSONL or CSV, plain or .gz; - reads standard input.")
    ],
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="CODE", help="Language of the documents that name none.")
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Delete the index (only one that Sinkrank made), without asking, and make it anew."
        ),
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="Where rejected rows go (default: <first FILE>.rejects.jsonl)."),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="jsonl, csv or tsv, where the file's name does not say it.")
    ] = None,
    id_field: Annotated[str, typer.Option(rich_help_panel=_FIELDS, help="Field of the document's id.")] = "id",
    language_field: Annotated[
        str | None,
        typer.Option(rich_help_panel=_FIELDS, help="Field of its language (default: language, or lang)."),
    ] = None,
    title_field: Annotated[str, typer.Option(rich_help_panel=_FIELDS, help="Field of its title.")] = "title",
    text_field: Annotated[str, typer.Option(rich_help_panel=_FIELDS, help="Field of its text.")] = "text",
    url_field: Annotated[str, typer.Option(rich_help_panel=_FIELDS, help="Field of its address.")] = "url",
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Index the documents of JSONL and CSV files.

    A row has the fields id, language, title, text, url; all others are metadata to filter by. Without an id it gets
    one from its contents, so running a command again changes nothing. The index is made where it is missing (default:
    documents). Rows that cannot be indexed are written, with the reason, to the reject file, and the exit code is 1.

    Example: [bold]sinkrank ingest pages.jsonl more.csv.gz --lang fr --index pages[/bold]

    Rejected rows, to be mended: [bold]jq -r .raw pages.jsonl.rejects.jsonl > mended.jsonl[/bold] (of CSV into a .csv
    file that begins with the header)
    """
    from ingest.documents import Layout
    from ingest.files import open_sources
    from ingest.pipeline import ingest as run
    from sinkrank import output, resources

    settings = options.load(config, home=home, embeddings=embeddings, store=store, index=index).settings
    layout = Layout(id_field, language_field, title_field, text_field, url_field, lang)
    loaded = resources.open_embeddings(settings)
    with (
        open_sources(files, file_format) as sources,
        resources.opened_store(settings) as opened,
        output.progress_bars() as progress,
    ):
        summary = run(
            sources,
            opened,
            settings.index or DEFAULT_INDEX,
            loaded,
            layout=layout,
            rebuild=rebuild,
            rejects=rejects,
            progress=progress,
        )
    if json_:
        output.print_json(summary.as_dict())
    else:
        output.results().print(_report(summary), markup=False)
    _explain_failure(summary)
    if summary.failure is not None or summary.rejected:
        raise typer.Exit(1)


def _report(summary: Summary) -> str:
    languages = ", ".join(f"{language} {n:,}" for language, n in summary.languages.items())
    lines = [
        f"{summary.indexed:,} of {summary.read:,} documents are in index {summary.index!r}"
        + (f" ({languages})" if languages else ""),
        f"{summary.seconds:.1f} s, {summary.documents_per_second:,.0f} documents a second",
    ]
    if summary.without_known_words:
        lines.append(f"{summary.without_known_words:,} of them have no word with an embedding: only BM25 finds them")
    if summary.rejected:
        lines.append(f"{summary.rejected:,} rejected, with their reasons in {summary.rejects}")
    return "\n".join(lines)


def _explain_failure(summary: Summary) -> None:
    if summary.failure is None:
        return
    place = f"; the first not confirmed is {summary.first_unconfirmed}" if summary.first_unconfirmed else ""
    typer.echo(
        f"sinkrank: {summary.failure}\n"
        f"sinkrank: {summary.indexed:,} documents were confirmed, {summary.unconfirmed:,} were on their way{place}. "
        "Ids are stable, so the same command can safely be run again: nothing comes in twice.",
        err=True,
    )
