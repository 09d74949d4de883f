"""`python -m papers.judged`: measures methods and other systems on a judged collection, with costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ingest.progress import Progress
from papers.base.names import known_names
from papers.base.stopwatch import Stopwatch
from papers.judged.collection import IndexedCollection, opened, present
from papers.judged.comparators import (
    BM25,
    COMPARATORS,
    Candidates,
    Cost,
    bm25_scores,
    rank_by_bm25,
    rank_by_encoder,
)
from papers.judged.encoders import ENCODERS
from papers.judged.indexing import INDEX
from reranker.search.request import MAX_DEPTH
from reranker.service.settings import Settings
from sinkrank.actions import judged
from sinkrank.console import options, output
from sinkrank.console.parsing import parse_names
from sinkrank.console.tables import methods_table
from sinkrank.evaluation.comparison import Run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


@app.command()
@options.takes_settings("first_stage", "depth", "home", "embeddings")
def measure(
    settings: Settings,
    collection: Annotated[Path, typer.Argument(metavar="DIR", help="A folder in BEIR's layout.")],
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Other judgments than the collection's qrels/test.tsv.")
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="NAME,…", help="nbow, rwmd, emd, sinkhorn, relaxed or auto.")
    ] = "sinkhorn,auto",
    systems: Annotated[
        str,
        typer.Option(
            metavar="NAME,…", help=f"Other systems, on the same candidates: {', '.join(COMPARATORS)}, or all."
        ),
    ] = "",
    lang: Annotated[
        str, typer.Option(metavar="CODE|FROM-TO", help="Language of queries and documents, en or en-de.")
    ] = "en",
    output_folder: options.ReportFolder = None,
    json_: options.Json = False,
) -> None:
    """Index a judged collection, and measure methods and other systems on it, with CPU times.

    Example: [bold]python -m papers.judged collections/cranfield --first-stage bm25 --systems minilm[/bold]
    """
    names = judged.after_first_stage(parse_names(methods))
    others = known_names(parse_names(systems), COMPARATORS, "a system to compare with on a collection")
    with output.progress_bars() as progress, opened(collection, qrels, lang, settings, progress) as found:
        runs, costs = _search(found, settings, names, progress)
        if others:
            their_runs, their_costs = _compare(found, settings, others, runs[0], progress)
            runs, costs = [*runs, *their_runs], costs | their_costs
    present(found, runs, output_folder, json_, {"costs": {name: asdict(cost) for name, cost in costs.items()}})
    if not json_:
        columns = {
            "CPU ms a query": [_ms(cost.query_ms) for cost in costs.values()],
            "CPU ms a document": [_ms(cost.document_ms) for cost in costs.values()],
        }
        output.results().print(methods_table(list(costs), columns))


def _search(
    found: IndexedCollection, settings: Settings, methods: Sequence[str], progress: Progress
) -> tuple[list[Run], dict[str, Cost]]:
    runs, costs = [], {}
    for name in methods:
        watch = Stopwatch()
        with watch.running():
            runs.append(found.run(settings, name, found.queries, progress))
        costs[name] = Cost(1000 * watch.seconds / len(found.queries), found.index.document_ms)
    return runs, costs


def _compare(
    found: IndexedCollection, settings: Settings, systems: Sequence[str], first: Run, progress: Progress
) -> tuple[list[Run], dict[str, Cost]]:
    folder = settings.home / "evaluation"
    encoders = {name: ENCODERS[name](folder / "models", settings.n_threads) for name in systems if name != BM25}
    # If the candidates are not BM25's, those after BM25's first thousand have the score 0.
    depth = settings.depth if settings.first_stage == "bm25" else MAX_DEPTH
    bm25, bm25_ms = bm25_scores(found.searcher.store, INDEX, found.queries, depth, progress)
    wanted = {doc_id for docs in first.ranking.values() for doc_id in docs}
    texts = found.collection.texts(wanted, found.languages[1])
    candidates = Candidates(found.queries, first.ranking, texts, bm25)
    runs: list[Run] = []
    costs: dict[str, Cost] = {}
    for name in systems:
        if name == BM25:
            runs.append(rank_by_bm25(candidates))
            costs[BM25] = Cost(bm25_ms, None)
            continue
        ranked, cost = rank_by_encoder(name, encoders[name], candidates, folder, progress)
        runs += ranked
        costs[ranked[0].way.name] = cost
        costs[ranked[1].way.name] = Cost((cost.query_ms or 0.0) + bm25_ms, cost.document_ms)
    return runs, costs


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
