"""Solves a checked problem with NumPy alone: the implementation that needs no compiler.

It solves small problems until the compiled loops are loaded (`compilation.py`). It follows `reference.py`, which has
the formulas, in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBags
from reranker.transport import exact, nbow, reference
from reranker.transport.cost import ground_cost
from reranker.transport.kernels.tolerances import SHRUNK
from reranker.transport.parameters import FLOAT64_FROM_EPSILON, Parameters
from reranker.transport.problem import Problem
from reranker.transport.results import Distances, closed_form

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]


def solve(
    problem: Problem,
    wanted: Sequence[tuple[str, Parameters]],
    n_threads: int = 1,
    shares: Sequence[float] | None = None,
) -> list[Distances]:
    """As `reranker.transport.solve.solve`; `shares` has no effect."""
    costs: dict[str, Matrix] = {}
    return [_distances(problem, method, parameters, n_threads, costs) for method, parameters in wanted]


def moved_words(
    term_ids: NDArray[np.int32],
    terms: NDArray[np.int32],
    offsets: Ints,
    weights: Vector,
    best: Ints,
    counts: Vector,
    query_ids: NDArray[np.int32],
    query_weights: Vector,
    n_words: int,
    share: float,
) -> tuple[NDArray[np.int32], Vector]:
    """As `kernels.feedback.moved_words`."""
    of_candidates = np.zeros(len(offsets) - 1)
    of_candidates[best] = counts
    summed = np.bincount(terms, np.repeat(of_candidates, np.diff(offsets)) * weights, len(term_ids))
    heaviest = np.argsort(-summed, kind="stable")[:n_words]
    added = summed[heaviest]
    if not added.any():
        return query_ids, query_weights
    heaviest, added = heaviest[added > 0], added[added > 0]
    own, others = (1.0 - share) * query_weights, added * (share / added.sum())
    found, places = np.unique(np.concatenate([query_ids, term_ids[heaviest]]), return_inverse=True)
    moved = np.bincount(places, np.concatenate([own, others]))
    return found, moved / moved.sum()


def neighbour_means(
    terms: NDArray[np.int32], offsets: Ints, roots: Vector, n_terms: int, best: Ints, scores: Vector, n_nearest: int
) -> Vector:
    """As `kernels.likeness.neighbour_means`."""
    likeness = np.array([likeness_to(document, terms, offsets, roots, n_terms) for document in best.tolist()]).T
    likeness[best, np.arange(len(best))] = 0.0
    weights = weights_of_nearest(likeness, n_nearest)
    totals = weights.sum(axis=1)
    return np.where(totals > 0, weights @ scores[best] / np.where(totals > 0, totals, 1.0), scores)


def likeness_to(document: int, terms: NDArray[np.int32], offsets: Ints, roots: Vector, n_terms: int) -> Vector:
    """The likeness of each document and one of them (n_documents,)."""
    words = slice(offsets[document], offsets[document + 1])
    return segment_sums(np.bincount(terms[words], roots[words], n_terms)[terms] * roots, offsets)


def weights_of_nearest(likeness: NDArray[np.float64], n_nearest: int) -> NDArray[np.float64]:
    """By how much each neighbour counts, (n_documents, n_best) as their likeness: 0 but for the nearest."""
    least = np.partition(likeness, -n_nearest, axis=1)[:, -n_nearest]
    return np.where(likeness >= least[:, None], likeness, 0.0) ** 4


def segment_sums(values: NDArray[np.float64], offsets: Ints) -> NDArray[np.float64]:
    """The sums of the last axis from each offset to the next; 0 for an empty segment.

    >>> segment_sums(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 4.])
    """
    filled = np.flatnonzero(np.diff(offsets))
    sums = np.zeros((*values.shape[:-1], len(offsets) - 1))
    if len(filled):
        sums[..., filled] = np.add.reduceat(values, offsets[filled], axis=-1)
    return sums


def _distances(
    problem: Problem, method: str, parameters: Parameters, n_threads: int, costs: dict[str, Matrix]
) -> Distances:
    if method == "nbow":
        return _nbow(problem)
    if method not in ("rwmd", "emd") and parameters.epsilon < FLOAT64_FROM_EPSILON:
        (found,) = reference.solve(problem, [(method, parameters)])
        return found
    cost = costs.get(parameters.ground_cost)
    if cost is None:
        cost = costs[parameters.ground_cost] = _cost(problem, parameters.ground_cost)
    if method == "rwmd":
        return closed_form(_nearest_words(problem, cost), method, "float64")
    if method == "emd":
        places = np.arange(len(problem.candidates))
        values, errors, _ = exact.distances(
            problem.query.weights, problem.candidates, places, lambda start, end: cost[:, start:end].T, n_threads
        )
        return _found(values, method, errors < parameters.converged_below(), errors, np.zeros(len(values)))
    values, errors, n_iterations = _scaled(problem, cost, method, parameters)
    for place in np.flatnonzero(np.isnan(values)):  # a scaling left the range of float64
        plan, pair_cost, errors[place] = reference.plan_and_cost(
            problem.query, problem.candidates[int(place)], problem.embeddings, method, parameters
        )
        values[place] = (plan * pair_cost).sum()
    return _found(values, method, errors < parameters.converged_below(), errors, n_iterations)


def _nbow(problem: Problem) -> Distances:
    """1 - cosine of the mean embeddings."""
    candidates = problem.candidates
    (query,) = nbow.plain_means(WeightedBags.join([problem.query]), problem.embeddings).astype(np.float64)
    values = 1 - nbow.candidate_means(problem) @ query
    values[np.diff(candidates.offsets) == 0] = np.inf
    return closed_form(np.maximum(values, 0.0), "nbow", "float64")  # rounding can leave -1e-17


def _found(
    values: Vector, method: str, converged: NDArray[np.bool_], errors: Vector, n_iterations: NDArray[np.floating]
) -> Distances:
    values = np.maximum(values, 0.0)  # rounding can leave -1e-17
    return Distances(values, method, converged, errors, "float64", n_iterations.astype(np.int32))


def _cost(problem: Problem, name: str) -> Matrix:
    """(n, n_words): the costs of each query word to each word of all candidates."""
    terms, places = problem.distinct
    if not len(terms):
        return np.zeros((len(problem.query), 0))
    return ground_cost(problem.query.term_ids, terms, problem.embeddings, name)[:, places]


def _nearest_words(problem: Problem, cost: Matrix) -> Vector:
    """`rwmd`: the larger of the two one-sided costs (Kusner et al. 2015, 4); inf for a candidate without a word."""
    query, candidates = problem.query, problem.candidates
    values = np.full(len(candidates), np.inf)
    filled = np.flatnonzero(np.diff(candidates.offsets))
    if len(filled):
        from_query = query.weights @ np.minimum.reduceat(cost, candidates.offsets[filled], axis=1)
        to_document = segment_sums(cost.min(axis=0) * candidates.weights, candidates.offsets)[filled]
        values[filled] = np.maximum(from_query, to_document)
    return values


def _scaled(problem: Problem, cost: Matrix, method: str, parameters: Parameters) -> tuple[Vector, Vector, Vector]:
    """Distances, marginal errors and iterations of all candidates (`reference.scaled_plan`); each stops by itself. NaN
    where the range of float64 did not suffice."""
    candidates, a, power = problem.candidates, problem.query.weights, parameters.power(method)
    n, n_candidates, stop_below = len(a), len(candidates), parameters.stop_below("float64")
    b, offsets = candidates.weights, candidates.offsets
    words = [slice(start, end) for start, end in pairwise(offsets.tolist())]
    of_word = np.repeat(np.arange(n_candidates), np.diff(offsets))
    kernel = np.exp(cost.T / -parameters.epsilon)
    w = np.repeat((np.full(n, 1 / n) if method == "sinkhorn" else a)[None], n_candidates, axis=0)
    # What has settled keeps the last of these.
    z, reached, sums = np.zeros(len(b)), np.ones(len(b)), np.ones((n_candidates, n))
    before, exact_before = np.full(n_candidates, np.inf), np.ones(n_candidates, np.bool_)
    n_iterations = np.zeros(n_candidates)
    active = np.diff(offsets) > 0
    with np.errstate(all="ignore"):
        for iteration in range(parameters.n_iterations):
            places = np.flatnonzero(active).tolist()
            for place in places:
                np.dot(kernel[words[place]], w[place], out=reached[words[place]])
            plain = b * reached**-power
            change = segment_sums(np.abs((plain - z) * reached), offsets)
            further = _over_relaxes(parameters, iteration, before, change, stop_below)
            new_z = np.where(further[of_word], plain * np.sqrt(plain / z), plain) if further.any() else plain
            z = np.where(active[of_word], new_z, z)
            for place in places:
                np.dot(z[words[place]], kernel[words[place]], out=sums[place])
            plain = a / sums
            settled = (change < stop_below) if iteration else np.zeros(n_candidates, np.bool_)
            is_last = settled & exact_before & ~further
            exact_before = settled | ~further
            new_w = np.where(exact_before[:, None], plain, plain * np.sqrt(plain / w))
            w = np.where(active[:, None], new_w, w)
            n_iterations[active] = iteration + 1
            active &= ~is_last & np.isfinite(new_w).all(axis=1)
            before = change
            if not active.any():
                break
        spread = w[of_word] * kernel
        reached = spread.sum(axis=1)
        values = segment_sums(np.einsum("ij,ji->i", spread, cost) * z, offsets)
        errors = segment_sums(np.abs((b * reached**-power - z) * reached), offsets)
    empty = np.diff(offsets) == 0
    values[~np.isfinite(values)] = np.nan
    values[empty], errors[empty] = np.inf, 0.0
    return values, errors, n_iterations


def _over_relaxes(
    parameters: Parameters, iteration: int, before: Vector, change: Vector, stop_below: float
) -> NDArray[np.bool_]:
    """`reference.over_relaxes`, for each candidate; an iteration has seen one change more than its number."""
    middle = 2 < iteration + 2 < parameters.n_iterations
    if not (parameters.over_relaxed and middle):
        return np.zeros(len(change), np.bool_)
    return (stop_below <= change) & (change < SHRUNK * before)
