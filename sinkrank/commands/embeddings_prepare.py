"""`sinkrank embeddings prepare`: the best embeddings for an index or for files, in one command."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options, output
from sinkrank.console.embedding_options import GroupField, Replace
from sinkrank.console.parsing import parse_names


@options.takes_settings(*options.STORE, embeddings=options.NewStore, index=options.IndexToRead)
def prepare(
    loaded: LoadedSettings,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Documents: files as for ingest; without them give --index.", show_default=False
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="CODE", help="Language of documents that name none; default: detected."),
    ] = None,
    queries_in: Annotated[
        list[str] | None,
        typer.Option(
            "--queries-in",
            metavar="CODE,…",
            help="Languages of queries besides those of the documents: fi,de; may be repeated.",
        ),
    ] = None,
    text_field: options.TextField = None,
    title_field: options.TitleField = None,
    language_field: options.LanguageField = None,
    group_field: GroupField = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="PART,…",
            help="Parts to skip: training, encoder, dictionaries, passages, languages; may be repeated.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the documents, show the plan, and exit.")] = False,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Make the best embeddings for your documents: training and encoded text, joined.

    It detects the languages of the documents, and shows a plan first. It skips a part that is not
    available.

    Example: [bold]sinkrank embeddings prepare articles.jsonl[/bold]

    Finnish queries too: [bold]sinkrank embeddings prepare articles.jsonl --queries-in fi[/bold]

    An index: [bold]sinkrank embeddings prepare --store opensearch://localhost:9200 --index articles[/bold]
    """
    from ingest.documents import DETECTED, Layout
    from ingest.embeddings.preparing.plan import check_names, make_plan
    from ingest.embeddings.preparing.run import prepare as run
    from reranker.embeddings import check_output
    from reranker.text.languages import language_code
    from reranker.text.segmentation import check_can_split
    from sinkrank.actions import preparing

    settings = loaded.settings
    # Only the option: an index in the settings is for searches.
    index = loaded.option("index")
    left_out = check_names(",".join(without or []).split(","))
    query_languages = [language_code(code) for code in parse_names(",".join(queries_in or []))]
    check_can_split(query_languages, "--queries-in names")
    layout = Layout(
        language_field=language_field,
        title_field=title_field,
        text_field=text_field,
        default_language=lang or DETECTED,
    )
    if not dry_run:
        check_output(settings.embeddings_path, replace=replace)
    with preparing.work_folder(settings) as folder:
        with output.progress_bars() as progress:
            texts = preparing.read_documents(files or [], index, layout, group_field, settings, folder, progress)
        plan = make_plan(texts, settings.home, left_out, settings.n_threads, query_languages)
        described = preparing.described(texts, plan)
        if dry_run:
            output.print_json(described) if json_ else preparing.show_plan(described, output.results())
            return
        preparing.show_plan(described, output.talk())
        with output.progress_bars() as progress:
            report = run(texts, plan, settings.embeddings_path, replace=replace, progress=progress)
    if json_:
        output.print_json(preparing.as_json(asdict(report), texts))
    else:
        preparing.show_report(report, texts)
        if loaded.option("embeddings") is None:
            output.talk().print(preparing.next_step(files or [], described["languages"], settings))
