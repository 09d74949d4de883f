"""Turns checked bags into distances, all candidates of a query together: the compiled implementation.

The distinct terms of the candidates are found, their costs to the query computed once by blocks of one matrix
product each, and every candidate is then solved from the rows of that table. So many candidates go together as the
work memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag, WeightedBags
from reranker.transport import kernels, reference
from reranker.transport.cost import ground_cost
from reranker.transport.problem import (
    Distances,
    Parameters,
    check_rows,
    scaling_precision,
)
from reranker.transport.tables import cost_table, kernel_table
from reranker.transport.tables import width as _width
from reranker.transport.threads import one_blas_thread, run

# Of 64 MB for a call, this much is for the two tables; the rest is for embeddings and tiles in work.
TABLE_BYTES = 48 * 2**20
# Pieces of work per thread: the last to finish is then late by an eighth at most.
PIECES_PER_THREAD = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What all candidates of a call have in common."""

    query: WeightedBag
    embeddings: NDArray[np.float32]
    method: str
    parameters: Parameters
    precision: str
    n_threads: int

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The type of the tables; the log domain is in float64."""
        return np.dtype(np.float32 if self.precision == "float32" else np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Some candidates in a row, the (k,) distinct terms of their words, and each word's place among these."""

    bags: WeightedBags
    terms: NDArray[np.int32]
    index: NDArray[np.int32]


_Found = tuple[NDArray[np.float64], NDArray[np.float64]]  # distances and marginal errors, one for each candidate


def distances(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    method: str,
    parameters: Parameters,
    n_threads: int = 1,
    *,
    precision: str | None = None,
) -> Distances:
    """Distances of all candidates; takes checked bags and a resolved method.

    Args:
        precision: "float32" or "float64", or for `sinkhorn` and `relaxed` "log", where it is not to be chosen here.
    """
    precision = precision or _precision(method, parameters)
    job = _Job(query, embeddings, method, parameters, precision, n_threads)
    with one_blas_thread():
        values, errors = (_one_by_one if method in ("nbow", "emd") else _together)(job, candidates)
        lost = np.flatnonzero(np.isnan(values))
        if len(lost):  # what float32 or float64 could not hold
            again = WeightedBags.join([candidates[int(place)] for place in lost])
            values[lost], errors[lost] = _together(replace(job, precision="log"), again)
    np.maximum(values, 0, out=values)  # rounding can leave -1e-17
    return Distances(values, method, errors < parameters.converged_below(), errors, precision)


def _precision(method: str, parameters: Parameters) -> str:
    if method in ("sinkhorn", "relaxed"):
        return scaling_precision(parameters.epsilon)
    return "float64" if method == "emd" else "float32"


def _one_by_one(job: _Job, candidates: WeightedBags) -> _Found:
    """The methods in which candidates share nothing but the query."""
    values, errors = np.full(len(candidates), np.inf), np.zeros(len(candidates))
    query_mean = _mean_embedding(job.query, job.embeddings)

    def work(first: int, last: int) -> None:
        for place in range(first, last):
            document = candidates[place]
            if len(document) and job.method == "nbow":
                values[place] = 1 - _cosine(query_mean, _mean_embedding(document, job.embeddings))
            elif len(document):
                cost = ground_cost(job.query.term_ids, document.term_ids, job.embeddings)
                plan, errors[place] = reference.emd_plan(job.query.weights, document.weights, cost)
                values[place] = (plan * cost).sum()

    run(work, _pieces(candidates.offsets, job.n_threads), job.n_threads)
    return values, errors


def _mean_embedding(bag: WeightedBag, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weighted mean of a bag's embeddings, (dim,)."""
    rows = np.take(embeddings, bag.term_ids, axis=0)
    mean = np.asarray(bag.weights.astype(np.float32) @ rows, dtype=np.float32)
    if not np.isfinite(mean).all():
        check_rows(bag.term_ids, rows)
    return mean


def _cosine(x: NDArray[np.float32], y: NDArray[np.float32]) -> float:
    """The cosine of two vectors; 0 where one is 0 and has no angle."""
    norms = float(np.linalg.norm(x)) * float(np.linalg.norm(y))
    return float(x @ y) / norms if norms > 0 else 0.0


def _together(job: _Job, candidates: WeightedBags) -> _Found:
    """The methods that work on the cost alone, from tables of it."""
    n_tables = 1 if job.method == "rwmd" or job.precision == "log" else 2
    found = []
    for chunk in _chunks(candidates, len(job.embeddings), n_tables * _width(len(job.query)) * job.dtype.itemsize):
        cost = cost_table(job.query, chunk.terms, job.embeddings, job.dtype, job.n_threads)
        if job.method == "rwmd":
            found.append(_solve_rwmd(job, chunk, cost))
        elif job.precision == "log":
            found.append(_solve_log(job, chunk, cost))
        else:
            found.append(_solve_scaled(job, chunk, cost))
    if not found:
        return np.empty(0), np.empty(0)
    return np.concatenate([values for values, _ in found]), np.concatenate([errors for _, errors in found])


def _solve_rwmd(job: _Job, chunk: _Chunk, cost: NDArray[np.floating]) -> _Found:
    values, errors = np.full(len(chunk.bags), np.inf), np.zeros(len(chunk.bags))
    bags, a = chunk.bags, job.query.weights

    def work(first: int, last: int) -> None:
        kernels.relaxed_wmd(cost, chunk.index, bags.offsets, first, last, a, bags.weights, values)

    run(work, _pieces(bags.offsets, job.n_threads), job.n_threads)
    return values, errors


def _solve_scaled(job: _Job, chunk: _Chunk, cost: NDArray[np.floating]) -> _Found:
    values, errors = np.full(len(chunk.bags), np.inf), np.zeros(len(chunk.bags))
    kernel = kernel_table(cost, len(job.query), job.parameters.epsilon, job.n_threads)
    a, b, start = (x.astype(job.dtype) for x in (job.query.weights, chunk.bags.weights, _start(job)))
    settings = (
        job.parameters.power(job.method),
        job.parameters.over_relaxed,
        int(job.parameters.n_iterations),
        job.parameters.stop_below(job.precision),
        kernels.SMALLEST[job.precision],
    )

    def work(first: int, last: int) -> None:
        kernels.scale_many(
            kernel, cost, chunk.index, chunk.bags.offsets, first, last, a, b, start, *settings, values, errors
        )

    run(work, _pieces(chunk.bags.offsets, job.n_threads), job.n_threads)
    return values, errors


def _solve_log(job: _Job, chunk: _Chunk, cost: NDArray[np.floating]) -> _Found:
    values, errors = np.full(len(chunk.bags), np.inf), np.zeros(len(chunk.bags))
    log_a, log_b, log_start = (np.log(x) for x in (job.query.weights, chunk.bags.weights, _start(job)))
    settings = (
        float(job.parameters.epsilon),
        job.parameters.power(job.method),
        job.parameters.over_relaxed,
        int(job.parameters.n_iterations),
        job.parameters.stop_below("log"),
    )

    def work(first: int, last: int) -> None:
        kernels.scale_many_log(
            cost, chunk.index, chunk.bags.offsets, first, last, log_a, log_b, log_start, *settings, values, errors
        )

    run(work, _pieces(chunk.bags.offsets, job.n_threads), job.n_threads)
    return values, errors


def _start(job: _Job) -> NDArray[np.float64]:
    """The scaling of the query to begin with, times a (`reference.scaled_plan`)."""
    n = len(job.query)
    return np.full(n, 1 / n) if job.method == "sinkhorn" else job.query.weights


def _chunks(candidates: WeightedBags, n_terms: int, bytes_per_term: int) -> Iterator[_Chunk]:
    """Parts the candidates so that the tables of each part fit the work memory; one candidate at least."""
    place = np.zeros(n_terms, dtype=np.int32)  # pages that no term touches are never made
    max_terms = max(TABLE_BYTES // bytes_per_term, 1)
    first = 0
    while first < len(candidates):
        last, terms, index = kernels.deduplicate(candidates.term_ids, candidates.offsets, first, max_terms, place)
        yield _Chunk(_part(candidates, first, last), terms, index)
        first = last


def _part(bags: WeightedBags, first: int, last: int) -> WeightedBags:
    start, end = bags.offsets[first], bags.offsets[last]
    return WeightedBags(bags.term_ids[start:end], bags.weights[start:end], bags.offsets[first : last + 1] - start)


def _pieces(offsets: NDArray[np.int64], n_threads: int) -> list[tuple[int, int]]:
    """Parts candidates into pieces of about the same number of words."""
    n_bags = len(offsets) - 1
    words = np.linspace(0, offsets[-1], n_threads * PIECES_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, words).clip(0, n_bags), [n_bags]]))
    return [(int(start), int(end)) for start, end in pairwise(cuts)]
