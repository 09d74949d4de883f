"""`python -m papers.judged`: measures methods and other systems on a judged collection, with costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ingest.progress import Progress
from papers.base.stopwatch import Stopwatch
from papers.judged.collection import IndexedCollection, Wanted, opened, present
from papers.judged.comparators import (
    BM25,
    COMPARATORS,
    Candidates,
    Cost,
    bm25_scores,
    parse_comparators,
    rank_by_bm25,
    rank_by_encoder,
)
from papers.judged.encoders import ENCODERS
from papers.judged.spellings import Stripped, without_identical_spellings
from reranker.search.searcher import MAX_DEPTH
from reranker.service.settings import Settings
from reranker.service.settings_sources import LoadedSettings
from sinkrank.actions import judged
from sinkrank.console import options, output
from sinkrank.console.parsing import parse_names
from sinkrank.console.tables import methods_table
from sinkrank.evaluation.comparison import Run
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.measures import MEASURES

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


@app.command()
@options.takes_settings("first_stage", "depth", *options.SEARCHABLE)
def measure(
    loaded: LoadedSettings,
    collection: Annotated[
        str, typer.Argument(metavar="DIR|NAME", help="A folder in BEIR's layout, or a name of ir_datasets.")
    ],
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
        str | None,
        typer.Option(metavar="CODE|FROM-TO", help="Language of queries and documents, en or en-de; default: detected."),
    ] = None,
    output_folder: options.ReportFolder = None,
    json_: options.Json = False,
) -> None:
    """Index a judged collection, and measure methods and other systems on it, with CPU times, and across languages also
    without identical spellings.

    Example: [bold]python -m papers.judged collections/cranfield --first-stage bm25 --systems minilm[/bold]
    """
    settings = loaded.settings
    names = judged.after_first_stage(parse_names(methods))
    others = parse_comparators(parse_names(systems))
    wanted = Wanted(collection, qrels, lang, loaded.option("store"), loaded.option("index"))
    with output.progress_bars() as progress, opened(wanted, settings, progress) as found:
        measured = _measure(found, settings, names, others, progress)
    present(found, measured.runs, output_folder, json_, _more(measured))
    if not json_:
        _print(measured)


@dataclass(frozen=True)
class _Measured:
    """The results.

    Attributes:
        costs: costs by the name of the run.
        stripped, stripped_runs: the queries without identical spellings, and their runs; None and empty in one
            language.
    """

    runs: Sequence[Run]
    costs: dict[str, Cost]
    stripped: Stripped | None
    stripped_runs: Sequence[Run]


def _measure(
    found: IndexedCollection, settings: Settings, methods: Sequence[str], systems: Sequence[str], progress: Progress
) -> _Measured:
    runs, costs = _search(found, settings, methods, found.queries, progress)
    if systems:
        others, their_costs = _compare(found, settings, systems, runs[0], progress)
        runs, costs = [*runs, *others], costs | their_costs
    asking, searched = found.languages
    if asking == searched:
        return _Measured(runs, costs, None, [])
    stripped = without_identical_spellings(found.queries, asking, found.collection.documents(searched))
    return _Measured(runs, costs, stripped, _search(found, settings, methods, stripped.queries, progress)[0])


def _search(
    found: IndexedCollection,
    settings: Settings,
    methods: Sequence[str],
    queries: Sequence[JudgedQuery],
    progress: Progress,
) -> tuple[list[Run], dict[str, Cost]]:
    found.searcher.open(found.index.index)
    runs, costs = [], {}
    for name in methods:
        watch = Stopwatch()
        with watch.running():
            runs.append(found.run(settings, name, queries, progress))
        costs[name] = Cost(1000 * watch.seconds / len(queries), found.index.document_ms)
    return runs, costs


def _compare(
    found: IndexedCollection, settings: Settings, systems: Sequence[str], first: Run, progress: Progress
) -> tuple[list[Run], dict[str, Cost]]:
    folder = settings.home / "evaluation"
    encoders = {name: ENCODERS[name](folder / "models", settings.n_threads) for name in systems if name != BM25}
    # If the candidates are not BM25's, those after BM25's first thousand have the score 0.
    depth = settings.depth if settings.first_stage == "bm25" else MAX_DEPTH
    bm25, bm25_ms = bm25_scores(found.searcher.store, found.index.index, found.queries, depth, progress)
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


def _more(measured: _Measured) -> dict[str, Any]:
    """The part of the report that `sinkrank evaluate` does not have."""
    more: dict[str, Any] = {"costs": {name: asdict(cost) for name, cost in measured.costs.items()}}
    if measured.stripped is not None:
        more["identical_spellings_removed"] = {
            "tokens": measured.stripped.n_tokens,
            "removed": measured.stripped.n_removed,
            "empty_queries": measured.stripped.n_empty,
            "methods": {
                run.way.name: {"means": {name: run.mean(name) for name in MEASURES}} for run in measured.stripped_runs
            },
        }
    return more


def _print(measured: _Measured) -> None:
    console = output.results()
    if measured.stripped is not None:
        console.print(_stripped_table(measured.stripped, measured.stripped_runs))
    costs = measured.costs
    columns = {
        "CPU ms a query": [_ms(cost.query_ms) for cost in costs.values()],
        "CPU ms a document": [_ms(cost.document_ms) for cost in costs.values()],
    }
    console.print(methods_table(list(costs), columns))


def _stripped_table(stripped: Stripped, runs: Sequence[Run]) -> Table:
    title = (
        f"identical spellings removed: {stripped.n_removed} of {stripped.n_tokens} tokens of the queries, "
        f"{stripped.n_empty} queries empty"
    )
    columns = {name: [f"{run.mean(name):.3f}" for run in runs] for name in MEASURES}
    return methods_table([run.way.name for run in runs], columns, title)


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
