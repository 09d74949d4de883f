"""`sinkrank evaluate`: measures methods on an index."""

from __future__ import annotations

from typing import Annotated

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options
from sinkrank.console.parsing import parse_names


@options.takes_settings("first_stage", "depth", *options.SEARCHABLE)
def evaluate(
    loaded: LoadedSettings,
    qrels: options.Qrels = None,
    queries: options.Queries = None,
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            show_default=False,
            help="nbow, rwmd, emd, sinkhorn, relaxed or auto; default: all but emd, which is slow.",
        ),
    ] = "nbow,rwmd,sinkhorn,relaxed,auto",
    template: options.Template = None,
    output_folder: options.ReportFolder = None,
    json_: options.Json = False,
) -> None:
    """Compare the methods with the first stage alone on an index, with tests of significance.

    Without relevance judgments, titles of the index are the queries, and each is to find its document.
    An index that Sinkrank did not make is searched through the proxy.

    Example: [bold]sinkrank evaluate --qrels qrels.txt --queries queries.jsonl --index pages --methods auto[/bold]
    """
    if qrels is None and queries is not None:
        raise typer.BadParameter("give the judgments of these queries", param_hint="--qrels")
    if not (names := parse_names(methods)):
        raise typer.BadParameter("name a method", param_hint="--methods")
    from sinkrank.actions import judged

    if output_folder is not None:
        output_folder.mkdir(parents=True, exist_ok=True)  # before the long work
    judged.compare(loaded, template, queries, qrels, names, output_folder, json_)
