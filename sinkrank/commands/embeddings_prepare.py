"""`sinkrank embeddings prepare`: the best embeddings for an index or for files, in one command."""

from __future__ import annotations

from typing import Annotated

import typer

from sinkrank.console import options
from sinkrank.console.embedding_options import (
    GroupField,
    LanguageField,
    Output,
    Precision,
    Replace,
    TitleField,
)


def prepare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Documents, as ingest reads them; or none, and --index.", show_default=False
        ),
    ] = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="CODE", help="Language of documents that name none (default: detected)."),
    ] = None,
    queries_in: Annotated[
        str | None,
        typer.Option(
            "--queries-in",
            metavar="CODE,…",
            help="Languages of queries that the documents are not in: fi,de (default: the documents' own).",
        ),
    ] = None,
    text_field: Annotated[
        str | None,
        typer.Option(
            "--text-field",
            metavar="NAME",
            help="Field of the text (default: text, body, contents, content); of an index several, parted by commas.",
        ),
    ] = None,
    title_field: TitleField = None,
    language_field: LanguageField = None,
    group_field: GroupField = None,
    without: Annotated[
        str | None,
        typer.Option(
            "--without", metavar="PART,…", help="Parts to leave out: published, training, encoder, dictionaries."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the documents, show the plan, and stop.")] = False,
    precision: Precision = "float32",
    output: Output = None,
    replace: Replace = False,
    json_: options.Json = False,
    home: options.Home = None,
    config: options.Config = None,
) -> None:
    """Make the best embeddings for your documents: published vectors, training on them and encoded words, joined.

    The languages are found in the documents. The plan, with time and size, is shown first. A part that cannot be had is
    left out. A run that was stopped goes on where it was.

    Example: [bold]sinkrank embeddings prepare articles.jsonl[/bold]

    Finnish queries too: [bold]sinkrank embeddings prepare articles.jsonl --queries-in fi[/bold]

    An index: [bold]sinkrank embeddings prepare --store opensearch://localhost:9200 --index articles[/bold]
    """
    from dataclasses import asdict

    from ingest.documents import DETECTED, Layout
    from ingest.embeddings.preparing.plan import check_names, make_plan
    from ingest.embeddings.preparing.run import prepare as run
    from reranker.embeddings import check_output, check_precision
    from reranker.text.languages import language_code
    from sinkrank.actions import preparing
    from sinkrank.console import output as shown

    settings = options.load(config, home=home, embeddings=output, store=store, index=index).settings
    left_out = check_names((without or "").split(","))
    query_languages = [language_code(code.strip()) for code in (queries_in or "").split(",") if code.strip()]
    kept = check_precision(precision)
    layout = Layout(
        language_field=language_field,
        title_field=title_field,
        text_field=text_field,
        default_language=lang or DETECTED,
    ).checked()
    if not dry_run:
        check_output(settings.embeddings_path, replace=replace)
    threads = settings.n_threads
    with preparing.work_folder(files or [], index, layout, group_field, settings) as work:
        with shown.progress_bars() as progress:
            texts = work.texts(progress)
        plan = make_plan(texts, settings.home, left_out, threads, query_languages)
        described = preparing.described(texts, plan)
        if dry_run:
            shown.print_json(described) if json_ else preparing.show_plan(described, shown.results())
            return
        preparing.show_plan(described, shown.talk())
        with shown.progress_steps() as progress:
            report = run(
                texts,
                plan,
                settings.embeddings_path,
                replace=replace,
                precision=kept,
                n_threads=threads,
                progress=progress,
            )
        work.remove()
    if json_:
        shown.print_json(preparing.as_json(asdict(report)))
    else:
        preparing.show_report(report)
        if output is None:
            shown.talk().print(preparing.next_step(files or [], described["languages"], settings), markup=False)
