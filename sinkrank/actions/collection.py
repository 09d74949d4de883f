"""`sinkrank evaluate --collection`: indexes a judged collection and compares methods on it, in tables and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from sinkrank.actions import judged
from sinkrank.console import output, resources
from sinkrank.console.options import is_given
from sinkrank.console.tables import figures_table

if TYPE_CHECKING:
    from evaluation.collections.beir import Collection
    from evaluation.collections.comparators import Cost
    from evaluation.collections.indexing import Indexed
    from evaluation.collections.spellings import Stripped
    from evaluation.judged.comparison import Run
    from evaluation.judged.judgments import JudgedQuery
    from ingest.progress import Progress
    from reranker.search.searcher import Searcher
    from reranker.service.settings import Settings

_TAKEN = frozenset(
    {
        "collection", "lang", "qrels", "methods", "systems", "first_stage", "depth", "store", "index", "output_folder",
        "json_", "home", "embeddings", "config",
    }
)  # fmt: skip


def check_options(context: typer.Context) -> None:
    """Raises BadParameter for an option that cannot be used with --collection."""
    for parameter in context.command.params:
        if parameter.name not in _TAKEN and is_given(context, parameter.name or ""):
            raise typer.BadParameter("--collection does not take it", param_hint=parameter.opts[0])


@dataclass(frozen=True)
class Wanted:
    """The options of the command.

    Attributes:
        source: a folder in BEIR's layout, or a name of ir_datasets.
        lang: language of queries and documents, `en` or `en-de`; None to detect it.
        store: None for a temporary store, unless `index` is given.
        index: name of the index, which is kept; None for an index that is deleted at the end.
    """

    source: str
    qrels: Path | None
    lang: str | None
    methods: Sequence[str]
    systems: Sequence[str]
    store: str | None
    index: str | None
    output_folder: Path | None
    as_json: bool


@dataclass(frozen=True)
class _Measured:
    """The results.

    Attributes:
        costs: costs by the name of the run.
        stripped, stripped_runs: the queries without identical spellings, and their runs; None and empty in one
            language.
    """

    indexed: Indexed
    runs: Sequence[Run]
    costs: Mapping[str, Cost]
    stripped: Stripped | None
    stripped_runs: Sequence[Run]


def evaluate_collection(wanted: Wanted, settings: Settings) -> None:
    """Indexes, searches, measures, prints, and writes reports."""
    from evaluation.collections.comparators import parse_comparators
    from evaluation.collections.languages import languages_of
    from evaluation.collections.sources import opened_collection
    from reranker.search.searcher import Searcher

    methods = judged.after_first_stage(wanted.methods)
    systems = parse_comparators(wanted.systems)
    embeddings = resources.open_embeddings(settings)
    with output.progress_bars() as progress, opened_collection(wanted.source, wanted.qrels, progress) as collection:
        languages = languages_of(collection, wanted.lang, embeddings)
        with _opened_store(wanted, settings) as store_settings, resources.opened_store(store_settings) as store:
            searcher = Searcher(store, embeddings, settings.n_threads)
            measured = _measure(collection, languages, searcher, settings, methods, systems, wanted.index, progress)
    _tell_left_out(collection, measured.indexed)
    judged.present(
        measured.indexed.index,
        measured.runs,
        collection.queries,
        wanted.output_folder,
        wanted.as_json,
        _more(collection, languages, measured),
    )
    if not wanted.as_json:
        _print(languages, measured)


@contextmanager
def _opened_store(wanted: Wanted, settings: Settings) -> Iterator[Settings]:
    """The settings with the store for the index: the given one, or a temporary folder."""
    if wanted.store is not None or wanted.index is not None:
        yield settings
        return
    from reranker.base.temporary import temporary_folder

    with temporary_folder("sinkrank-measured-") as folder:
        yield settings.model_copy(update={"store": str(folder), "store_pipeline": None})


def _measure(
    collection: Collection,
    languages: tuple[str, str],
    searcher: Searcher,
    settings: Settings,
    methods: Sequence[str],
    systems: Sequence[str],
    index: str | None,
    progress: Progress,
) -> _Measured:
    from dataclasses import replace

    from evaluation.collections.indexing import indexed
    from evaluation.collections.spellings import without_identical_spellings

    asking, searched = languages
    queries = [replace(query, language=query.language or asking) for query in collection.queries]
    with indexed(collection, searched, searcher.store, searcher.embeddings, index, progress) as made:
        runs, costs = _search(searcher, made, settings, methods, queries, progress)
        if systems:
            others, their_costs = _compare(
                collection, searched, searcher, settings, systems, made, runs[0], queries, progress
            )
            runs, costs = [*runs, *others], costs | their_costs
        stripped, stripped_runs = None, []
        if asking != searched:
            stripped = without_identical_spellings(queries, asking, collection.documents(searched))
            stripped_runs = _search(searcher, made, settings, methods, stripped.queries, progress)[0]
    return _Measured(made, runs, costs, stripped, stripped_runs)


def _search(
    searcher: Searcher,
    made: Indexed,
    settings: Settings,
    methods: Sequence[str],
    queries: Sequence[JudgedQuery],
    progress: Progress,
) -> tuple[list[Run], dict[str, Cost]]:
    from evaluation.base.stopwatch import Stopwatch
    from evaluation.collections.comparators import Cost
    from evaluation.judged.comparison import run_way

    searcher.reranker(made.index)
    runs, costs = [], {}
    for name in methods:
        watch = Stopwatch()
        with watch.running():
            runs.append(run_way(judged.way_of(settings, name), searcher, made.index, queries, progress))
        costs[name] = Cost(1000 * watch.seconds / len(queries), made.document_ms)
    return runs, costs


def _compare(
    collection: Collection,
    language: str,
    searcher: Searcher,
    settings: Settings,
    systems: Sequence[str],
    made: Indexed,
    first: Run,
    queries: Sequence[JudgedQuery],
    progress: Progress,
) -> tuple[list[Run], dict[str, Cost]]:
    from evaluation.collections.comparators import BM25, Candidates, Cost, bm25_scores, rank_by_bm25, rank_by_encoder
    from evaluation.collections.encoders import ENCODERS
    from reranker.search.searcher import MAX_DEPTH

    folder = settings.home / "evaluation"
    encoders = {name: ENCODERS[name](folder / "models", settings.n_threads) for name in systems if name != BM25}
    # If the candidates are not BM25's, those after BM25's first thousand have the score 0.
    depth = settings.depth if settings.first_stage == "bm25" else MAX_DEPTH
    bm25, bm25_ms = bm25_scores(searcher.store, made.index, queries, depth, progress)
    wanted = {doc_id for docs in first.ranking.values() for doc_id in docs}
    candidates = Candidates(queries, first.ranking, collection.texts(wanted, language), bm25)
    runs: list[Run] = []
    costs: dict[str, Cost] = {}
    for name in systems:
        if name == BM25:
            runs.append(rank_by_bm25(candidates))
            costs[BM25] = Cost(bm25_ms, None)
            continue
        found, cost = rank_by_encoder(name, encoders[name], candidates, folder, progress)
        runs += found
        costs[found[0].way.name] = cost
        costs[found[1].way.name] = Cost((cost.query_ms or 0.0) + bm25_ms, cost.document_ms)
    return runs, costs


def _tell_left_out(collection: Collection, made: Indexed) -> None:
    if made.n_left_out:
        rows = output.counted(made.n_left_out, "row")
        output.talk().print(
            f"{rows} of {collection.corpus} left out: no text, no id, or the id of a row before", markup=False
        )


def _more(collection: Collection, languages: tuple[str, str], measured: _Measured) -> dict[str, Any]:
    """The part of the report that judged queries do not have."""
    from evaluation.judged.comparison import MEASURES

    more: dict[str, Any] = {
        "collection": {
            "name": collection.name,
            "documents": measured.indexed.n_documents,
            "queries": len(collection.queries),
            "query_language": languages[0],
            "document_language": languages[1],
        },
        "costs": {name: asdict(cost) for name, cost in measured.costs.items()},
    }
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


def _print(languages: tuple[str, str], measured: _Measured) -> None:
    console = output.results()
    if measured.stripped is not None:
        console.print(_stripped_table(measured))
    console.print(_cost_table(measured.costs))
    asking, searched = languages
    documents = output.counted(measured.indexed.n_documents, "document")
    console.print(f"{documents} in {searched!r}, queries in {asking!r}", markup=False)


def _stripped_table(measured: _Measured) -> Table:
    from evaluation.judged.comparison import MEASURES

    stripped = measured.stripped
    assert stripped is not None  # noqa: S101 - the caller looks
    title = (
        f"identical spellings removed: {stripped.n_removed} of {stripped.n_tokens} tokens of the queries, "
        f"{stripped.n_empty} queries empty"
    )
    runs = measured.stripped_runs
    columns = {name: [f"{run.mean(name):.3f}" for run in runs] for name in MEASURES}
    return figures_table([run.way.name for run in runs], columns, title)


def _cost_table(costs: Mapping[str, Cost]) -> Table:
    return figures_table(
        list(costs),
        {
            "CPU ms a query": [_ms(cost.query_ms) for cost in costs.values()],
            "CPU ms a document": [_ms(cost.document_ms) for cost in costs.values()],
        },
    )


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
