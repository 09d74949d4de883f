"""`sinkrank tune`: parameters by people's judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sinkrank.console import options


def tune(
    queries: Annotated[
        Path,
        typer.Option("--queries", metavar="FILE", help="Queries: JSON lines as the page saves them, or ID, tab, text."),
    ],
    qrels: Annotated[
        Path, typer.Option("--qrels", metavar="FILE", help="TREC qrels: QUERY 0 DOCUMENT RELEVANCE a line.")
    ],
    first_stage: Annotated[
        str | None, typer.Option("--first-stage", help="knn, bm25 or hybrid (default: knn).")
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Search through the proxy by this body of a search, with {{text}} for the query. An index that is not "
            "ours is always searched so (default: a multi_match over its text fields).",
        ),
    ] = None,
    method: options.Method = None,
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Choose epsilon, tau, depth and the weight of kNN on one half of the judged queries, and report on the other.

    Prints lines for sinkrank.toml where they are better than what is set by more than chance. 20 judged queries are the
    least.
    An index that Sinkrank did not make is searched through the proxy: method, epsilon and window are chosen.

    Example: [bold]sinkrank tune --queries queries.jsonl --qrels qrels.txt --method relaxed --first-stage hybrid[/bold]
    """
    from sinkrank.actions import judged, judged_proxy

    settings = options.load(
        config, home=home, embeddings=embeddings, store=store, index=index, first_stage=first_stage, method=method
    ).settings
    if judged_proxy.is_wanted(settings, template):
        judged_proxy.tune(settings, template, queries, qrels, json_)
        return
    judged.tune(settings, queries, qrels, json_)
