"""Tunes the method's parameters, depth and the weight of kNN on one half of the judged queries, and tests them on the
other half. For the proxy it also chooses the method."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reranker.base.errors import BadInput
from reranker.search.request import DEFAULT_FIRST_STAGE
from sinkrank.evaluation.comparison import Run, Way
from sinkrank.evaluation.judgments import JudgedQuery

METHODS = ("auto", "sinkhorn", "relaxed")
EPSILONS = (0.02, 0.05, 0.1, 0.2)
TAU_SHARES = (0.0, 0.3, 0.5, 0.7, 0.9)
DEPTHS = (50, 100, 200, 500)
KNN_WEIGHTS = (0.2, 0.35, 0.5, 0.65, 0.8)

# With fewer queries the choice would be random.
MIN_QUERIES = 20
# A smaller gain is within chance, so the default is kept.
_LEAST_GAIN = 0.001
_ROUNDS = 2


@dataclass(frozen=True)
class Tuning:
    """The chosen way, and its results on queries that did not choose it.

    Attributes:
        tried: every way with its measure on the tuning half.
        before, after: runs on the test half.
    """

    measure: str
    tried: tuple[tuple[Way, float], ...]
    chosen: Way
    before: Run
    after: Run
    n_choosing: int


def halves(queries: Sequence[JudgedQuery]) -> tuple[list[JudgedQuery], list[JudgedQuery]]:
    """Splits the queries by a hash of their text, so that a query stays in the same half when judgments are added.

    Raises:
        BadInput: too few queries.
    """
    if len(queries) < MIN_QUERIES:
        raise BadInput(f"{len(queries)} judged queries; to choose by less than {MIN_QUERIES} is chance: judge more")
    order = sorted(queries, key=_hashed)
    sides: tuple[list[JudgedQuery], list[JudgedQuery]] = ([], [])
    for query in order:
        sides[_hashed(query)[-1] % 2].append(query)
    if min(map(len, sides)) < MIN_QUERIES // 3:
        return order[::2], order[1::2]
    return sides


def _hashed(query: JudgedQuery) -> bytes:
    return hashlib.sha256(query.text.encode()).digest()


def tune(
    start: Way,
    run: Callable[[Way, Sequence[JudgedQuery]], Run],
    queries: Sequence[JudgedQuery],
    measure: str = "nDCG@10",
) -> Tuning:
    """Changes one parameter at a time, in two rounds, and keeps values that are better by at least 0.001.

    Args:
        run: runs some queries in one way and measures the results.

    Raises:
        BadInput: too few queries.
    """
    choosing, reporting = halves(queries)
    if start.first_stage == "auto":
        start = replace(start, first_stage=DEFAULT_FIRST_STAGE)
    tried: dict[Way, float] = {}

    def measured(way: Way) -> float:
        if way not in tried:
            tried[way] = run(way, choosing).mean(measure)
        return tried[way]

    best = replace(start, name="other parameters")
    for _ in range(_ROUNDS):
        before = best
        for change in _changes(best):
            best = _better(best, change, measured)
        if best == before:
            break
    chosen = replace(best, name="tuned")
    before_run = run(replace(start, name="as set"), reporting)
    after_run = run(chosen, reporting)
    return Tuning(measure, tuple(tried.items()), chosen, before_run, after_run, len(choosing))


def _better(best: Way, change: _Change, measured: Callable[[Way], float]) -> Way:
    for way in change(best):
        if measured(way) > measured(best) + _LEAST_GAIN:
            best = way
    return best


_Change = Callable[[Way], Iterable[Way]]
"""A way with one parameter changed to each of its values."""


def _changes(way: Way) -> list[_Change]:
    """The parameters that have an effect with this method and first stage."""
    changes: list[_Change] = []
    if way.first_stage == "engine":  # our own index is tuned for a method that was chosen by `evaluate`
        changes.append(lambda way: [replace(way, method=method) for method in METHODS])
    if way.method in ("sinkhorn", "relaxed", "auto"):
        changes.append(_epsilons)
    if way.method == "relaxed":
        changes.append(_taus)
    if way.first_stage == "hybrid":
        changes.append(lambda way: [replace(way, knn_weight=weight) for weight in KNN_WEIGHTS])
    return [*changes, lambda way: [replace(way, depth=depth) for depth in DEPTHS]]


def _epsilons(way: Way) -> Iterator[Way]:
    share = None if way.parameters.tau is None else way.parameters.tau / way.parameters.epsilon
    for epsilon in EPSILONS:
        tau = None if share is None else share * epsilon
        yield replace(way, parameters=replace(way.parameters, epsilon=epsilon, tau=tau))


def _taus(way: Way) -> Iterator[Way]:
    epsilon = way.parameters.epsilon
    for share in TAU_SHARES:
        yield replace(way, parameters=replace(way.parameters, tau=round(epsilon * share / (1 - share), 6)))
