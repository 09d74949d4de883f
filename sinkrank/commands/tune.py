"""`sinkrank tune`: chooses parameters with relevance judgments."""

from __future__ import annotations

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options


@options.takes_settings("first_stage", "method", *options.SEARCHABLE)
def tune(
    loaded: LoadedSettings,
    qrels: options.Qrels = None,
    queries: options.Queries = None,
    template: options.Template = None,
    json_: options.Json = False,
) -> None:
    """Choose epsilon, tau, depth and the weight of kNN on half of the judged queries, and test them on the other half.

    Prints lines for sinkrank.toml if they are significantly better than the current settings. It needs 20 judged
    queries or more. For an index that Sinkrank did not make it chooses method, epsilon, tau and the proxy's window.

    Example: [bold]sinkrank tune --queries queries.jsonl --qrels qrels.txt --method relaxed --first-stage hybrid[/bold]
    """
    if qrels is None:
        raise typer.BadParameter("give the judgments of your index", param_hint="--qrels")
    from sinkrank.actions import tuned

    tuned.tune(loaded, template, queries, qrels, json_)
