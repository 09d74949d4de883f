"""`sinkrank ingest files`: indexes the documents of files, or of another index."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from reranker.service.settings import Settings
from sinkrank.console import options, output
from sinkrank.console.exits import ended_cleanly
from sinkrank.console.ingest_report import explain_failure, report
from sinkrank.console.parsing import parse_pairs

_FROM_INDEX = "From an index"


@options.takes_settings(*options.SEARCHABLE, index=options.IngestIndex)
def ingest_files(
    settings: Settings,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="JSONL, CSV, TSV, Parquet, HTML, Markdown or text; plain, .gz or .bz2; a folder of pages, "
            "a pattern, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    from_index: Annotated[
        str | None,
        typer.Option(
            "--from-index",
            metavar="URL/INDEX",
            rich_help_panel=_FROM_INDEX,
            help="Read the documents of an OpenSearch or Elasticsearch index instead of files.",
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="JSON",
            rich_help_panel=_FROM_INDEX,
            help="Read only its documents that match this query.",
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang", metavar="CODE", help="Language of documents that name none; auto detects the language of each."
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Write a new version of the index, and serve it once it is complete."),
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="File for rejected rows; default: FILE.rejects."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Maximum number of rows to read.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and check everything, but write only the reject file.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Number of encoding processes; default: one per core.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Encode on this Ray cluster: auto, HOST:6379, or local, which starts one here."
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of the files: jsonl, csv, tsv, parquet, html, markdown or text; default: by file name.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAMES", help="Column names of CSV files without a header: doc_id,text."),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            "--types",
            metavar="TYPES",
            help="Types of CSV metadata (int, float, bool, list): year=int,tags=list. | separates a list's values.",
        ),
    ] = None,
    id_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=options.FIELDS, help="Id field; default: id, doc_id, _id or docno."
        ),
    ] = None,
    language_field: options.LanguageField = None,
    title_field: options.TitleField = None,
    text_field: options.TextField = None,
    url_field: Annotated[str, typer.Option(metavar="NAME", rich_help_panel=options.FIELDS, help="URL field.")] = "url",
    json_: options.Json = False,
) -> None:
    """Index the documents of files.

    A row has the fields id, language, title, text and url; all other fields become metadata to filter by. A row
    without an id gets one from its contents, so running a command twice changes nothing. The index is created if it
    does not exist (default: documents). Run the same command again to complete a run that was interrupted. Rejected
    rows are written to the reject file with the reason; correct that file and ingest it. The exit code is 0 only if
    every row is in the index.

    Example: [bold]sinkrank ingest pages.jsonl 'more/*.csv.gz' --lang fr --index pages[/bold]

    Into a cluster: [bold]zcat dump.jsonl.gz | sinkrank ingest - --store https://search:9200 --index pages[/bold]

    Copy an index: [bold]sinkrank ingest --from-index http://old:9200/articles --text-field title,body
    --query '{"term": {"lang": "fr"}}' --store http://new:9200 --index pages[/bold]

    Also: [bold]sinkrank ingest refresh | rollback | delete --help[/bold]
    """
    if bool(files) == bool(from_index):
        raise typer.BadParameter("name at least one file (- for standard input), or --from-index", param_hint="FILE...")
    if query is not None and from_index is None:
        raise typer.BadParameter("it needs --from-index", param_hint="--query")
    for option, value in (("--format", file_format), ("--columns", columns), ("--types", types)):
        if value is not None and from_index is not None:
            raise typer.BadParameter("it is for files, not for --from-index", param_hint=option)

    from ingest.documents import Layout
    from ingest.files import open_sources
    from ingest.pipeline import Options, ingest
    from sinkrank.console import resources
    from sinkrank.console.document_sources import index_to_read, layout_of_copy, opened_copy, say_left_out

    layout = Layout(
        id_field=id_field,
        language_field=language_field,
        title_field=title_field,
        text_field=text_field,
        url_field=url_field,
        default_language=lang,
        types=parse_pairs(types.split(",") if types else (), "--types", "FIELD=TYPE, separated by commas"),
    )
    how = Options(
        layout=layout if from_index is None else layout_of_copy(layout),
        rebuild=rebuild,
        rejects=rejects,
        limit=limit,
        dry_run=dry_run,
        n_workers=workers,
        ray_address=ray,
    )
    embeddings = resources.open_embeddings(settings, files or ())
    with ExitStack() as opened, ended_cleanly(), output.progress_bars() as progress:
        if from_index is None:
            names = columns.split(",") if columns else None
            sources = opened.enter_context(open_sources(files or (), file_format, names))
        else:
            read = index_to_read(from_index, layout, query, limit)
            copied = opened_copy(read, settings.home / "ingest", settings, progress)
            sources = [opened.enter_context(copied)]
        say_left_out(sources)
        store = opened.enter_context(resources.opened_store(settings))
        index = settings.index or options.DEFAULT_INDEX
        summary = ingest(sources, store, index, embeddings, how, progress=progress)
    left_out = {source.name: dict(source.left_out) for source in sources if source.left_out}
    if json_:
        output.print_json(summary.as_dict() | ({"left_out": left_out} if left_out else {}))
    else:
        output.results().print(report(summary, store.address), soft_wrap=True)
    explain_failure(summary)
    if not summary.is_whole:
        raise typer.Exit(1)
