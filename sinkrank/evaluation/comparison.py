"""Runs judged queries in several ways, and compares them: measures, significance, and the hits that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ingest.progress import Progress, no_progress
from reranker.base.errors import EmptyQuery, UnknownWords
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.stores.base.filters import Filters
from reranker.transport import Parameters
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.measures import MEASURES
from sinkrank.evaluation.statistics import Interval, bootstrap_interval, highest_share, holm, randomisation_p

N_HITS = 100
"""The number of hits that `R@100` needs: a search shows as many, however few of them are re-ranked."""

# People notice a loss of more than this.
MUCH_WORSE = 0.1


@dataclass(frozen=True)
class Way:
    """A way to search, with its name in a report."""

    name: str
    method: str
    first_stage: str = "knn"
    depth: int = 100
    parameters: Parameters = field(default_factory=Parameters)
    knn_weight: float = 0.5
    feedback: bool = True
    first_stage_share: float | None = None

    @classmethod
    def of(cls, settings: Settings, method: str, first_stage: str | None = None) -> Way:
        """That of the settings, with another method and perhaps another first stage."""
        return cls(
            method,
            method,
            first_stage or settings.first_stage,
            settings.depth,
            Parameters(epsilon=settings.epsilon, tau=settings.tau),
            settings.knn_weight,
            settings.feedback,
            settings.first_stage_share,
        )


@dataclass(frozen=True)
class Run:
    """The results of a way.

    Attributes:
        ranking: document ids in order, by query id; empty for a query without a known word.
        values: value by measure, then by query id.
    """

    way: Way
    ranking: Mapping[str, Sequence[str]]
    values: Mapping[str, Mapping[str, float]]

    def mean(self, measure: str) -> float:
        """The mean of a measure over the queries."""
        values = self.values[measure]
        return sum(values.values()) / len(values)

    def interval(self, measure: str) -> Interval:
        """The mean with its 95 % bootstrap interval over queries."""
        values = list(self.values[measure].values())
        return bootstrap_interval(values, [1] * len(values))


@dataclass(frozen=True)
class Difference:
    """The difference of a run from the baseline in one measure: the mean, and the p-value after Holm's correction.

    Attributes:
        n_much_worse: number of queries that lose more than `MUCH_WORSE`.
        much_worse_at_most: their share of all such queries, not exceeded with 95 % confidence.
    """

    mean: float
    p_value: float
    n_better: int
    n_worse: int
    n_much_worse: int
    much_worse_at_most: float


@dataclass(frozen=True, slots=True)
class IndexSearches:
    """Searches judged queries in an index that Sinkrank made, as `ProxySearches` does in others."""

    searcher: Searcher
    index: str
    first_stage: ClassVar[None] = None
    outcomes: ClassVar[Mapping[str, Counter[str]]] = {}

    def run(self, way: Way, queries: Sequence[JudgedQuery], progress: Progress = no_progress) -> Run:
        """Runs every query in one way and measures the results.

        Raises:
            StoreUnavailable, NotFound: the index cannot be searched.
        """
        ranking = {}
        for done, query in enumerate(queries, start=1):
            ranking[query.query_id] = _search(way, self.searcher, self.index, query)
            progress(done, len(queries), f"searching by {way.name}")
        return Run(way, ranking, measures_of(queries, ranking))


def _search(way: Way, searcher: Searcher, index: str, query: JudgedQuery) -> tuple[str, ...]:
    request = SearchRequest(
        text=query.text,
        index=query.index or index,
        language=query.language,
        filters=Filters.parse(query.languages or None),
        first_stage=way.first_stage,
        depth=way.depth,
        method=way.method,
        parameters=way.parameters,
        size=max(way.depth, N_HITS),
        knn_weight=way.knn_weight,
        feedback=way.feedback,
        first_stage_share=way.first_stage_share,
    )
    try:
        answer = searcher.search(request)
    except (EmptyQuery, UnknownWords):
        return ()
    return tuple(hit.id for hit in answer.hits)


def measures_of(queries: Sequence[JudgedQuery], ranking: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """The value of each of `MEASURES` by query id; 0 for a query that found nothing."""
    return {
        name: {query.query_id: measure(ranking.get(query.query_id, ()), query.relevance) for query in queries}
        for name, measure in MEASURES.items()
    }


def differences(runs: Sequence[Run], baseline: Run, measure: str) -> dict[str, Difference]:
    """Compares each run with the baseline, by name: paired randomisation tests over queries, with Holm's correction."""
    others = [run for run in runs if run is not baseline]
    changes = [
        [run.values[measure][query_id] - before for query_id, before in baseline.values[measure].items()]
        for run in others
    ]
    p_values = holm([randomisation_p(change) for change in changes])
    return {run.way.name: _difference(change, p) for run, change, p in zip(others, changes, p_values, strict=True)}


def _difference(change: Sequence[float], p_value: float) -> Difference:
    n_much_worse = sum(each < -MUCH_WORSE for each in change)
    return Difference(
        sum(change) / len(change),
        p_value,
        sum(each > 0 for each in change),
        sum(each < 0 for each in change),
        n_much_worse,
        highest_share(n_much_worse, len(change)),
    )


@dataclass(frozen=True)
class ComparedRun:
    """A run's mean in one measure with its 95 % interval, and its difference from the baseline (None for itself)."""

    run: Run
    interval: Interval
    difference: Difference | None


def compared_runs(runs: Sequence[Run], measure: str) -> list[ComparedRun]:
    """Compares each run with the first. Resampling takes a while, so call it once."""
    changed = differences(runs, runs[0], measure)
    return [ComparedRun(run, run.interval(measure), changed.get(run.way.name)) for run in runs]


@dataclass(frozen=True)
class QueryMove:
    """One query: its measure in each run, and the rank of each judged document in each run (None: not found)."""

    query: JudgedQuery
    values: Mapping[str, float]
    ranks: Mapping[str, Mapping[str, int | None]]


def query_moves(runs: Sequence[Run], queries: Sequence[JudgedQuery], measure: str) -> Iterator[QueryMove]:
    """The comparison of each query, with the ranks of its judged documents."""
    for query in queries:
        places = {
            run.way.name: {doc: rank for rank, doc in enumerate(run.ranking[query.query_id], start=1)} for run in runs
        }
        yield QueryMove(
            query,
            {run.way.name: run.values[measure][query.query_id] for run in runs},
            {doc: {name: found.get(doc) for name, found in places.items()} for doc in query.relevance},
        )


def by_gain(moves: Sequence[QueryMove], run: Run, baseline: Run) -> list[QueryMove]:
    """The queries that changed, from the largest gain of `run` over the baseline to the largest loss."""

    def gain(move: QueryMove) -> float:
        return move.values[run.way.name] - move.values[baseline.way.name]

    return sorted((move for move in moves if gain(move)), key=gain, reverse=True)
