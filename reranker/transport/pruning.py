"""Finds the candidates of the k least exact distances, and solves few others: lower bounds tell which need none.

A candidate is left out only where its bound is above the k-th least distance found. So all that are not solved are
farther than the k nearest, and those that tie with the k-th are solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.bounds import dual_bounds
from reranker.transport.candidate_costs import CandidateCosts, Places, fits
from reranker.transport.parameters import Parameters
from reranker.transport.problem import Problem
from reranker.transport.results import Distances
from reranker.transport.solve import solve_from

# Bounds of `emd` and the distances are computed in double from the same embeddings: sums that are off by some 1e-14.
# Next to the gaps between candidates, some 1e-4, a margin that is far larger costs nothing.
EXACT_MARGIN = 1e-7
# Candidates whose dual bound is taken before the first exact solve, for each of the k.
TIGHTENED_FIRST = 8

Vector = NDArray[np.float64]


class _Least:
    """The distances found so far, and the k-th least of them."""

    def __init__(self, n_candidates: int, k: int, limit: float) -> None:
        self._k, self._limit = k, limit
        values, converged, errors, n_iterations = (np.full(n_candidates, of) for of in (np.inf, True, 0.0, np.int32(0)))
        self.distances = Distances(values, converged, errors, "float64", n_iterations)
        self.solved = np.zeros(n_candidates, dtype=np.bool_)

    def add(self, places: Places, found: Distances) -> None:
        """Takes the distances of the candidates at some places."""
        everything = self.distances
        everything.values[places] = found.values
        everything.converged[places] = found.converged
        everything.marginal_error[places] = found.marginal_error
        everything.n_iterations[places] = found.n_iterations
        self.solved[places] = True

    @property
    def limit(self) -> float:
        """The k-th least distance, or the limit from outside where that is less."""
        return min(self._limit, _kth_least(self.distances, self._k))


def nearest_by_emd(
    problem: Problem, parameters: Parameters, k: int, n_threads: int = 1, limit: float = np.inf
) -> tuple[Distances, int]:
    """Distances by `emd`, +inf where not solved, and how many were solved.

    Args:
        limit: candidates that are farther need not be solved.

    `rwmd` bounds all candidates (Kusner et al. 2015, 4), the dual those that it does not leave out, and in the order of
    that bound they are solved, one by one: each solve may lower the limit for the next.
    """
    if not fits(problem, "float64"):
        first_half, second_half = problem.halves()
        found, n_solved = nearest_by_emd(first_half, parameters, k, n_threads, limit)
        limit = min(limit, _kth_least(found, k))
        others, n_others = nearest_by_emd(second_half, parameters, k, n_threads, limit)
        return Distances.join([found, others]), n_solved + n_others
    n_candidates = len(problem.candidates)
    least = _Least(n_candidates, k, limit)
    costs = CandidateCosts(problem, "float64", n_threads, parameters.ground_cost)
    (nearest_words,) = solve_from(costs, [("rwmd", parameters)])
    bounds = nearest_words.values - EXACT_MARGIN

    def tighten(places: Places) -> None:
        left = places[_within(bounds[places], least.limit)]
        bounds[left] = np.maximum(bounds[left], dual_bounds(costs, left) - EXACT_MARGIN)

    def solve(places: Places, n_most: int) -> None:
        left = places[_within(bounds[places], least.limit) & ~least.solved[places]]
        for place in left[np.argsort(bounds[left], kind="stable")][:n_most]:
            if bounds[place] > least.limit:
                break
            alone = np.array([place], np.int64)
            least.add(alone, solve_from(costs, [("emd", parameters)], alone)[0])

    first, rest = np.split(np.argsort(bounds, kind="stable").astype(np.int64, copy=False), [TIGHTENED_FIRST * k])
    tighten(first)
    solve(first, k)  # they give a limit
    tighten(rest)
    solve(np.arange(n_candidates, dtype=np.int64), n_candidates)
    return least.distances, int(np.count_nonzero(least.solved))


def _kth_least(distances: Distances, k: int) -> float:
    """+inf where fewer are found."""
    values = distances.values
    return float(np.partition(values, k - 1)[k - 1]) if k <= len(values) else np.inf


def _within(bounds: Vector, limit: float) -> NDArray[np.bool_]:
    """Which candidates have words (the bound of one without is +inf) and may be among the nearest."""
    return np.isfinite(bounds) & (bounds <= limit)
