"""Solves a checked problem, all candidates together: the compiled implementation of every method.

The costs of the distinct terms are computed once (`candidate_costs`), and every candidate is solved from their table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.transport import exact, nbow
from reranker.transport.candidate_costs import CandidateCosts, Part, Places, pieces
from reranker.transport.cost import CLOSE_COST
from reranker.transport.cost_table import width
from reranker.transport.kernels import cost_tables, fixed_point, log_scaling, scaling, short_scaling, whole_solve
from reranker.transport.parameters import FLOAT64_FROM_EPSILON, Parameters, scaling_precision
from reranker.transport.problem import Problem, check_terms
from reranker.transport.results import Distances, closed_form
from reranker.transport.threads import run, together, worthwhile

# Of `sinkhorn` until rounding leaves nothing to gain: what a solve is taken to need when threads are counted.
_USUAL_ITERATIONS = 15
# Methods that iterate on scalings.
_SCALED = ("sinkhorn", "relaxed")

Wanted = tuple[str, Parameters]
# Distances, marginal errors and iterations: (n_methods, n_candidates), or (n_candidates,) of one method.
_Found = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]

_NO_MEANS = np.empty((0, 0), np.float32)


class _Plan(NamedTuple):
    """How some methods are solved together.

    Attributes:
        runs: `_solved_together`.
        names: the arithmetic of each method.
        solves: what `whole_solve` takes, where it can solve them all from float32 tables; None where it cannot.
    """

    runs: tuple[slice, ...]
    names: tuple[str, ...]
    solves: NDArray[np.float64] | None


def solve(problem: Problem, wanted: Sequence[Wanted], n_threads: int = 1) -> list[Distances]:
    """The distances of all candidates by each part of a method (`methods.parts`), from the same tables of costs."""
    method, parameters = wanted[-1]
    if method == "nbow":
        values = np.full(len(problem.candidates), np.inf)
        nbow.fill(problem, None, n_threads, values)
        return [closed_form(values, method, "float32")]
    return solve_from(CandidateCosts(problem, table_precision(method, parameters), n_threads), wanted)


def solve_from(
    costs: CandidateCosts, wanted: Sequence[Wanted], places: Places | None = None, *, in_log_domain: bool = False
) -> list[Distances]:
    """The distances of the candidates at some places (None: all), part after part: no cost is computed twice.

    Args:
        wanted: `rwmd`, `emd`, `sinkhorn`, `relaxed`, or `nbow`, which needs no costs.
        in_log_domain: whatever epsilon is.
    """
    problem, n_threads, asked = costs.problem, costs.n_threads, places
    plan = _plan(tuple(wanted), "log" if in_log_domain else costs.precision)
    found = _solved_whole(costs, wanted, plan.solves) if asked is None and plan.solves is not None else None
    if places is None:
        places = np.arange(len(problem.candidates))
    if found is None:
        found = _solved_by_parts(costs, wanted, asked, np.asarray(places, dtype=np.int64), plan)
    values, errors, iterations = found
    if not values.min(initial=np.inf) >= 0:  # what float32 or float64 could not hold, or -1e-17 by rounding
        _solve_lost(problem, places, wanted, n_threads, values, errors, iterations)
        np.maximum(values, 0, out=values)
    converged = errors < wanted[-1][1].converged_below()
    return [
        Distances(values[row], each[0], converged[row], errors[row], plan.names[row], iterations[row])
        for row, each in enumerate(wanted)
    ]


@lru_cache(64)
def _plan(wanted: tuple[Wanted, ...], arithmetic: str) -> _Plan:
    runs = tuple(_solved_together(wanted, arithmetic))
    by_cost = wanted[1:] if wanted[0][0] == "nbow" else wanted
    is_one_kernel = arithmetic == "float32" and len(runs) == 1 + len(wanted) - len(by_cost)
    solves = None
    if is_one_kernel and by_cost and all(method in _SCALED for method, _ in by_cost):
        solves = np.array([[own.power(name), own.n_iterations, name == "sinkhorn"] for name, own in by_cost])
    return _Plan(runs, tuple(_arithmetic(arithmetic, *each) for each in wanted), solves)


def is_short(costs: CandidateCosts, part: Part) -> bool:
    """Whether a solve takes so little time that one call for all of it saves much: not where threads share it."""
    n_query, n_terms, n_words = len(costs.problem.query), len(part.terms), len(part.index)
    columns, dim = width(n_query), costs.problem.embeddings.shape[1]
    if not n_terms or part.cost is not None or fixed_point.serves(n_query, dim):
        return False
    n_operations = max(n_terms * columns * dim, n_words * columns * 2 * _USUAL_ITERATIONS)
    return worthwhile(costs.n_threads, n_operations) == 1


def _solved_whole(costs: CandidateCosts, wanted: Sequence[Wanted], solves: NDArray[np.float64]) -> _Found | None:
    """All candidates in one compiled call; None where that is not for this problem."""
    problem, part = costs.problem, costs.only_part
    if part is None or not nbow.are_readable(problem.embeddings) or not is_short(costs, part):
        return None
    query, bags, parameters = problem.query, problem.candidates, wanted[-1][1]
    means = _NO_MEANS if len(solves) == len(wanted) else nbow.candidate_means(problem, costs.n_threads)
    shape = len(wanted), len(bags)
    values, errors, iterations = np.empty(shape), np.empty(shape), np.empty(shape, np.int32)
    unsound = whole_solve.solve_whole(
        nbow.readable(problem.embeddings), query.term_ids, query.weights, part.terms, part.index, bags.offsets,
        bags.weights, means, solves, parameters.ground_cost == "euclidean", CLOSE_COST, -1 / parameters.epsilon,
        parameters.over_relaxed, parameters.stop_below("float32"), scaling.SMALLEST["float32"], width(len(query)),
        values, errors, iterations,
    )  # fmt: skip
    if unsound >= 0:
        check_terms(part.terms[unsound : unsound + 1], problem.embeddings)
    return values, errors, iterations


def _solved_by_parts(
    costs: CandidateCosts, wanted: Sequence[Wanted], asked: Places | None, places: Places, plan: _Plan
) -> _Found:
    """The candidates at some places, step by step.

    Args:
        asked: the places that the caller gave; None: all.
    """
    values, errors, iterations = _nothing_found(len(wanted), len(places))
    by_cost = []
    for rows in plan.runs:
        if wanted[rows.start][0] == "nbow":
            nbow.fill(costs.problem, asked, costs.n_threads, values[rows.start])
        else:
            by_cost.append(rows)
    for part, own, where in costs.parts_of(places) if by_cost else ():
        for rows in by_cost:
            found = _solve_part(costs, part, own, wanted[rows], plan.names[rows.start])
            values[rows, where], errors[rows, where], iterations[rows, where] = found
    return values, errors, iterations


def table_precision(method: str, parameters: Parameters) -> str:
    """The type of tables from which a method is solved best: "float32" or "float64"."""
    if method == "emd":
        return "float64"
    return "float64" if method in _SCALED and scaling_precision(parameters.epsilon) != "float32" else "float32"


def _arithmetic(wanted: str, method: str, parameters: Parameters) -> str:
    """How a method is computed from tables of a precision: "float32", "float64" or "log"."""
    if method == "nbow":
        return "float32"
    if wanted == "float64" and method not in ("rwmd", "emd") and parameters.epsilon < FLOAT64_FROM_EPSILON:
        return "log"
    return wanted


def _solved_together(wanted: Sequence[Wanted], arithmetic: str) -> list[slice]:
    """Runs of methods that are solved from one kernel, exp(-cost / epsilon); every other method by itself."""
    runs: list[slice] = []
    for row, (method, parameters) in enumerate(wanted):
        if runs and _shares_kernel(wanted[row - 1], (method, parameters), arithmetic):
            runs[-1] = slice(runs[-1].start, row + 1)
        else:
            runs.append(slice(row, row + 1))
    return runs


def _shares_kernel(one: Wanted, other: Wanted, arithmetic: str) -> bool:
    if not all(method in _SCALED and _arithmetic(arithmetic, method, found) != "log" for method, found in (one, other)):
        return False
    first, second = (
        (each.epsilon, each.ground_cost, each.over_relaxed, each.stop_below(arithmetic)) for _, each in (one, other)
    )
    return first == second


def _solve_part(costs: CandidateCosts, part: Part, places: Places, wanted: Sequence[Wanted], arithmetic: str) -> _Found:
    """What `_solved_together` puts together; the arrays are (len(wanted), len(places))."""
    method, parameters = wanted[0]
    cost = costs.table(part, parameters.ground_cost)
    if method == "rwmd":
        return _nearest_words(costs, part, places, cost)
    if method == "emd":
        query, rows, double = costs.problem.query, part.index, cost.astype(np.float64, copy=False)
        return exact.distances(
            query.weights, part.bags, places, lambda start, end: double[rows[start:end], : len(query)], costs.n_threads
        )
    if _arithmetic(arithmetic, method, parameters) == "log":
        return _solve_log(costs, part, places, cost, method, parameters)
    return _solve_scaled(costs, part, places, cost, wanted)


def _nearest_words(costs: CandidateCosts, part: Part, places: Places, cost: NDArray[np.floating]) -> _Found:
    """`rwmd`: the larger of what transport costs when one side alone keeps its weights (Kusner et al. 2015, 4)."""
    from_query, to_document = np.full(len(places), np.inf), np.full(len(places), np.inf)
    bags, query = part.bags, costs.problem.query

    def work(first: int, last: int) -> None:
        cost_tables.nearest_words(
            cost, part.index, bags.offsets, places[first:last], query.weights, bags.weights,
            from_query[first:last], to_document[first:last],
        )  # fmt: skip

    run(work, pieces(bags.offsets, places, costs.n_threads), costs.n_threads)
    _, no_errors, no_iterations = _nothing_found(1, len(places))
    return np.maximum(from_query, to_document)[None], no_errors, no_iterations


def _solve_scaled(
    costs: CandidateCosts, part: Part, places: Places, cost: NDArray[np.floating], wanted: Sequence[Wanted]
) -> _Found:
    values, errors, iterations = _nothing_found(len(wanted), len(places))
    query, bags, parameters = costs.problem.query, part.bags, wanted[0][1]
    starts = np.empty((len(wanted), len(query)), costs.dtype)
    for row, (method, _) in enumerate(wanted):
        starts[row] = _start(method, query.weights)
    a, b = query.weights.astype(costs.dtype), bags.weights.astype(costs.dtype)
    settings = (
        np.array([own.power(method) for method, own in wanted]),
        parameters.over_relaxed,
        np.array([own.n_iterations for _, own in wanted], np.int64),
        parameters.stop_below(costs.precision),
        scaling.SMALLEST[costs.precision],
    )
    n_operations = len(bags.term_ids) * cost.shape[1] * 2 * _USUAL_ITERATIONS
    n_threads = worthwhile(min(costs.n_threads, len(places)), n_operations)
    order = np.arange(len(places))
    if n_threads > 1:  # the longest first, so that threads end together
        order = np.argsort(-np.diff(bags.offsets)[places], kind="stable")
    work = partial(
        scaling.scale_many, np.zeros(1, np.int64), order, len(a) <= short_scaling.MOST_WORDS, cost,
        -1 / parameters.epsilon, part.index, bags.offsets, places, a, b, starts, *settings, values, errors, iterations,
    )  # fmt: skip
    together(work, n_threads)
    return values, errors, iterations


def _solve_log(
    costs: CandidateCosts, part: Part, places: Places, cost: NDArray[np.floating], method: str, parameters: Parameters
) -> _Found:
    values, errors, iterations = _nothing_found(1, len(places))
    query, bags = costs.problem.query, part.bags
    log_a, log_b = np.log(query.weights), np.log(bags.weights)
    log_start = np.log(np.broadcast_to(_start(method, query.weights), len(query)))
    settings = (
        float(parameters.epsilon),
        parameters.power(method),
        parameters.over_relaxed,
        int(parameters.n_iterations),
        parameters.stop_below("log"),
    )

    def work(first: int, last: int) -> None:
        log_scaling.scale_many_log(
            cost, part.index, bags.offsets, places[first:last], log_a, log_b, log_start, *settings,
            values[0, first:last], errors[0, first:last], iterations[0, first:last],
        )  # fmt: skip

    run(work, pieces(bags.offsets, places, costs.n_threads), costs.n_threads)
    return values, errors, iterations


def _start(method: str, query_weights: NDArray[np.float64]) -> NDArray[np.float64] | float:
    """The scaling of the query to begin with, times a (`reference.scaled_plan`); one number where all are the same."""
    return 1 / len(query_weights) if method == "sinkhorn" else query_weights


def _solve_lost(
    problem: Problem,
    places: Places,
    wanted: Sequence[Wanted],
    n_threads: int,
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    iterations: NDArray[np.int32],
) -> None:
    """Solves in the log domain what came out as NaN; the arrays are (len(wanted), len(places))."""
    for row, each in enumerate(wanted):
        lost = np.flatnonzero(np.isnan(values[row]))
        if len(lost):
            costs = CandidateCosts(problem.part(places[lost]), "float64", n_threads)
            (again,) = solve_from(costs, [each], in_log_domain=True)
            values[row, lost], errors[row, lost] = again.values, again.marginal_error
            iterations[row, lost] = again.n_iterations


def _nothing_found(n_methods: int, n: int) -> _Found:
    shape = n_methods, n
    return np.full(shape, np.inf), np.zeros(shape), np.zeros(shape, np.int32)
