"""Solves a checked problem, all candidates together: the compiled implementation of every method.

The costs of the distinct terms are computed once (`candidate_costs`), and every candidate is solved from their table.
What float64 cannot hold is left to `reference`, which has logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.native import transport as loops
from reranker.transport import exact, fixed_point, nbow, reference
from reranker.transport.candidate_costs import CandidateCosts, Places, pieces
from reranker.transport.cost import CLOSE_COST
from reranker.transport.cost_table import width
from reranker.transport.parameters import FLOAT64_FROM_EPSILON, Parameters, scaling_precision
from reranker.transport.problem import Problem, check_terms
from reranker.transport.results import Distances
from reranker.transport.threads import run, together, worthwhile

# Of `sinkhorn` until rounding leaves nothing to gain: what a solve is taken to need when threads are counted.
_USUAL_ITERATIONS = 15
# Queries of up to this many words: a register of float32 of AVX-512. With more, the order of `scaling_long.h` wastes
# little.
MOST_SHORT_WORDS = 16
# A sum under these has lost digits to denormal numbers: 2^23 (2^52) times the smallest normal float32 (float64).
SMALLEST = {"float32": 1e-31, "float64": 1e-292}
# Methods that iterate on scalings.
_SCALED = ("sinkhorn", "relaxed")

Component = tuple[str, Parameters]
"""A method with its parameters, which alone or with others makes up a distance (`methods.parts`)."""
# Distances, marginal errors and iterations: (n_methods, n_candidates), or (n_candidates,) of one method.
_Found = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]


class _SingleCall(NamedTuple):
    """The arguments of `solve_whole` (C), which solves methods with one kernel in one call.

    Attributes:
        has_nbow: whether the first method is `nbow`, which needs no kernel.
        solves: (n_solves, 3) power, most iterations, and whether the solve starts with equal scalings.
    """

    has_nbow: bool
    solves: NDArray[np.float64]
    is_euclidean: bool
    scale: float
    over_relaxed: bool
    stop_below: float


def solve(
    problem: Problem, components: Sequence[Component], n_threads: int, shares: Sequence[float]
) -> list[Distances]:
    """The distances of all candidates by each part of a method (`methods.parts`), from the same tables of costs.

    Args:
        shares: of each part in the method's distance: the parts may come mixed, as one.
    """
    mixed = _mixed_at_once(problem, components, n_threads, shares)
    if mixed is not None:
        return [mixed]
    method, parameters = components[-1]
    precision = table_precision(method, parameters)
    return solve_from(CandidateCosts(problem, precision, n_threads, parameters.ground_cost), components)


def solve_from(costs: CandidateCosts, components: Sequence[Component], places: Places | None = None) -> list[Distances]:
    """The distances of the candidates at some places (None: all), part after part: no cost is computed twice.

    Args:
        components: `rwmd`, `emd`, `sinkhorn`, `relaxed`, all of the ground cost that `costs` are of; or `nbow`, which
            needs no costs and is of all candidates.
    """
    problem, n_threads = costs.problem, costs.n_threads
    places = np.arange(len(problem.candidates), dtype=np.int64) if places is None else np.asarray(places, np.int64)
    values, errors, iterations = _nothing_found(len(components), len(places))
    for rows in _solved_together(components, costs.precision):
        method, parameters = components[rows.start]
        if method == "nbow":
            nbow.fill(problem, n_threads, values[rows.start])
        elif _arithmetic(costs.precision, method, parameters) == "log":
            values[rows.start], errors[rows.start] = _by_reference(problem, places, method, parameters)
        else:
            values[rows], errors[rows], iterations[rows] = _solve_from_table(costs, places, components[rows])
    if not values.min(initial=np.inf) >= 0:  # what float32 or float64 could not hold, or -1e-17 by rounding
        for row, each in enumerate(components):
            lost = np.flatnonzero(np.isnan(values[row]))
            values[row, lost], errors[row, lost] = _by_reference(problem, places[lost], *each)
        np.maximum(values, 0, out=values)
    converged = errors < components[-1][1].converged_below()
    return [
        Distances(values[row], converged[row], errors[row], _arithmetic(costs.precision, *each), iterations[row])
        for row, each in enumerate(components)
    ]


@lru_cache(64)
def _single_call(components: tuple[Component, ...]) -> _SingleCall | None:
    """None where `solve_whole` is not for these methods."""
    has_nbow = components[0][0] == "nbow"
    by_cost, (method, parameters) = components[has_nbow:], components[-1]
    if table_precision(method, parameters) != "float32" or not all(name in _SCALED for name, _ in by_cost):
        return None
    if len(_solved_together(components, "float32")) > 1 + has_nbow or not by_cost:
        return None
    solves = np.array([[own.power(name), own.n_iterations, name == "sinkhorn"] for name, own in by_cost])
    is_euclidean, scale = parameters.ground_cost == "euclidean", -1 / parameters.epsilon
    return _SingleCall(has_nbow, solves, is_euclidean, scale, parameters.over_relaxed, parameters.stop_below("float32"))


def is_short(problem: Problem, n_threads: int) -> bool:
    """Whether a solve is to be one call: not where threads share it, or where its costs are computed in fixed point."""
    candidates, embeddings = problem.candidates, problem.embeddings
    columns, dim = width(len(problem.query)), embeddings.shape[1]
    if fixed_point.serves(len(problem.query), dim):
        return False
    n_terms, n_words = len(candidates.distinct.term_ids), len(candidates.term_ids)
    operations = columns * max(n_terms * dim, n_words * 2 * _USUAL_ITERATIONS)
    return n_terms > 0 and worthwhile(n_threads, operations) == 1


def _mixed_at_once(
    problem: Problem, components: Sequence[Component], n_threads: int, shares: Sequence[float]
) -> Distances | None:
    """The methods mixed, all candidates in one compiled call; None where that is not for them, and where float32 does
    not suffice."""
    call = _single_call(tuple(components))
    if call is None or not is_short(problem, n_threads):
        return None
    query, bags, embeddings = problem.query, problem.candidates, problem.embeddings
    terms, index = bags.distinct
    means = nbow.candidate_means(problem, n_threads) if call.has_nbow else None
    values, errors, iterations = np.empty(len(bags)), np.empty(len(bags)), np.empty(len(bags), np.int32)
    status = loops.solve_whole(
        embeddings, embeddings.shape[1], query.term_ids, query.weights, len(query), width(len(query)),
        terms, len(terms), index, bags.offsets, len(bags), bags.weights, means,
        call.solves, len(call.solves), np.array(shares, np.float64), len(shares), call.is_euclidean, CLOSE_COST,
        len(query) <= MOST_SHORT_WORDS, call.scale, call.over_relaxed, call.stop_below, SMALLEST["float32"],
        values, errors, iterations,
    )  # fmt: skip
    if status >= 0:
        check_terms(terms[status : status + 1], embeddings)
    converged = errors < components[-1][1].converged_below()
    return None if status == loops.OUT_OF_RANGE else Distances(values, converged, errors, "float32", iterations)


def table_precision(method: str, parameters: Parameters) -> str:
    """The type of tables from which a method is solved best: "float32" or "float64"."""
    if method == "emd":
        return "float64"
    return "float64" if method in _SCALED and scaling_precision(parameters.epsilon) != "float32" else "float32"


def _arithmetic(precision: str, method: str, parameters: Parameters) -> str:
    """How a method is computed, with tables of a precision: "float32", "float64" or "log"."""
    if method == "nbow":
        return "float32"
    if precision == "float64" and method not in ("rwmd", "emd") and parameters.epsilon < FLOAT64_FROM_EPSILON:
        return "log"
    return precision


def _solved_together(components: Sequence[Component], precision: str) -> list[slice]:
    """The methods in runs, each of which is solved together: neighbours that share the kernel exp(-cost / epsilon) are
    one run, and every other method is a run by itself."""
    runs: list[slice] = []
    for row, (method, parameters) in enumerate(components):
        if runs and _shares_kernel(components[row - 1], (method, parameters), precision):
            runs[-1] = slice(runs[-1].start, row + 1)
        else:
            runs.append(slice(row, row + 1))
    return runs


def _shares_kernel(one: Component, other: Component, precision: str) -> bool:
    """Whether both scale a kernel (none solves in the log domain), and by the same epsilon and stopping rule."""
    if not all(method in _SCALED and _arithmetic(precision, method, found) != "log" for method, found in (one, other)):
        return False
    first, second = ((each.epsilon, each.over_relaxed, each.stop_below(precision)) for _, each in (one, other))
    return first == second


def _solve_from_table(costs: CandidateCosts, places: Places, components: Sequence[Component]) -> _Found:
    """What `_solved_together` puts together; the arrays are (len(components), len(places))."""
    method = components[0][0]
    if method == "rwmd":
        return _nearest_words(costs, places)
    if method == "emd":
        query, bags = costs.problem.query, costs.problem.candidates
        rows, double = bags.distinct.places, costs.table.astype(np.float64, copy=False)
        return exact.distances(
            query.weights, bags, places, lambda start, end: double[rows[start:end], : len(query)], costs.n_threads
        )
    return _solve_scaled(costs, places, components)


def _nearest_words(costs: CandidateCosts, places: Places) -> _Found:
    """`rwmd`: the larger of what transport costs when one side alone keeps its weights (Kusner et al. 2015, 4)."""
    from_query, to_document = np.full(len(places), np.inf), np.full(len(places), np.inf)
    bags, query, cost = costs.problem.candidates, costs.problem.query, costs.table

    def work(first: int, last: int) -> None:
        loops.nearest_words[cost.itemsize](
            cost, cost.shape[1], bags.distinct.places, bags.offsets, places[first:last], last - first, query.weights,
            len(query), bags.weights, from_query[first:last], to_document[first:last],
        )  # fmt: skip

    run(work, pieces(bags.offsets, places, costs.n_threads), costs.n_threads)
    _, no_errors, no_iterations = _nothing_found(1, len(places))
    return np.maximum(from_query, to_document)[None], no_errors, no_iterations


def _solve_scaled(costs: CandidateCosts, places: Places, components: Sequence[Component]) -> _Found:
    """Sinkhorn's scaling of one kernel, for methods that share it (`_shares_kernel`)."""
    values, errors, iterations = _nothing_found(len(components), len(places))
    query, bags, parameters, cost = costs.problem.query, costs.problem.candidates, components[0][1], costs.table
    starts = np.empty((len(components), len(query)), costs.dtype)
    for row, (method, _) in enumerate(components):
        starts[row] = _start(method, query.weights)
    a, b = query.weights.astype(costs.dtype), bags.weights.astype(costs.dtype)
    settings = (
        np.array([own.power(method) for method, own in components]),
        np.array([own.n_iterations for _, own in components], np.int64),
        len(components),
        parameters.over_relaxed,
        parameters.stop_below(costs.precision),
        SMALLEST[costs.precision],
    )
    n_operations = len(bags.term_ids) * cost.shape[1] * 2 * _USUAL_ITERATIONS
    n_threads = worthwhile(min(costs.n_threads, len(places)), n_operations)
    order = np.arange(len(places), dtype=np.int64)
    if n_threads > 1:  # the longest first, so that threads end together
        order = np.argsort(-np.diff(bags.offsets)[places], kind="stable")
    work = partial(
        loops.scale_documents[cost.itemsize], np.zeros(1, np.int64), order, len(a) <= MOST_SHORT_WORDS, cost,
        cost.shape[1], -1 / parameters.epsilon, bags.distinct.places, bags.offsets, places, len(places), a, len(a), b,
        starts, *settings, values, errors, iterations,
    )  # fmt: skip
    together(work, n_threads)
    return values, errors, iterations


def _by_reference(
    problem: Problem, places: Places, method: str, parameters: Parameters
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distances and marginal errors of the candidates at some places; iterations are not counted."""
    values, errors = np.full(len(places), np.inf), np.zeros(len(places))
    for row, place in enumerate(places.tolist()):
        document = problem.candidates[place]
        if len(document):
            found = reference.plan_and_cost(problem.query, document, problem.embeddings, method, parameters)
            values[row], errors[row] = float((found[0] * found[1]).sum()), found[2]
    return values, errors


def _start(method: str, query_weights: NDArray[np.float64]) -> NDArray[np.float64] | float:
    """The scaling of the query to begin with, times a (`reference.scaled_plan`); one number where all are the same."""
    return 1 / len(query_weights) if method == "sinkhorn" else query_weights


def _nothing_found(n_methods: int, n: int) -> _Found:
    shape = n_methods, n
    return np.full(shape, np.inf), np.zeros(shape), np.zeros(shape, np.int32)
