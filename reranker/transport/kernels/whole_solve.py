"""A whole solve in one call, on one thread: the query's embeddings in, the distances of all candidates out.

A short solve takes less time than its steps take to call one by one from Python.
"""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import cost_tables, nbow_means, products, scaling, short_scaling
from reranker.transport.kernels.arrays import Double, Ints, ShortInts, Single
from reranker.transport.kernels.buffers import floats
from reranker.transport.kernels.compiling import compiled


@compiled
def solve_whole(
    embeddings: Single,
    query_ids: ShortInts,
    query_weights: Double,
    terms: ShortInts,
    index: ShortInts,
    offsets: Ints,
    weights: Double,
    means: Single,
    solves: Double,
    shares: Double,
    euclidean: bool,
    close: float,
    scale: float,
    over_relaxed: bool,
    stop_below: float,
    smallest: float,
    width: int,
    values: Double,
    errors: Double,
    iterations: ShortInts,
) -> int:
    """Writes the distances of all candidates, by a sum of methods, and the marginal errors and iterations of the last.

    Args:
        embeddings: of all terms; query_ids, query_weights: (n,) of the query; `width`: of its table of costs.
        terms: (k,) the distinct terms of the candidates; index: each word's place among them.
        offsets: (n_candidates + 1,); weights: (n_words,).
        means: (n_candidates, dim), for `nbow`; of any size without it.
        solves: (n_solves, 3) power, most iterations, and whether the solve starts with equal scalings.
        shares: (n_solves,) of each in the sum, or with one number more, the first, that of `nbow`.
        euclidean, close: as of `cost_tables.fill_tables`; the others as of `scaling.scale_many`.
        values, errors, iterations: (n_candidates,).

    Returns:
        The place of a term whose embedding is not sound; -1 where all are; -2 where the range of float32 did not
        suffice, or rounding left less than 0.
    """
    n, n_terms, dim = len(query_ids), len(terms), embeddings.shape[1]
    query_rows = floats(width * dim, embeddings).reshape(width, dim)
    for i in range(n):
        query_rows[i] = embeddings[query_ids[i]]
    padded = np.empty(n_terms + 2 * products.N_TERMS, np.int32)
    padded[:n_terms] = terms
    padded[n_terms:] = terms[n_terms - 1]
    cost = floats((n_terms + products.N_TERMS) * width, embeddings).reshape(n_terms + products.N_TERMS, width)
    unsound = np.full(1, -1)
    cost_tables.fill_tables(
        np.zeros(1, np.int64), embeddings, padded, n_terms, products.strips(query_rows),
        np.empty(0, np.float32), query_rows[:n], query_ids, np.ones(width, np.float32), close, euclidean, cost, unsound,
    )  # fmt: skip
    if unsound[0] >= 0:
        return int(unsound[0])
    n_candidates, n_before = len(offsets) - 1, len(shares) - len(solves)
    places, shape = np.arange(n_candidates), (len(shares), n_candidates)
    all_values, all_errors, all_iterations = np.full(shape, np.inf), np.zeros(shape), np.zeros(shape, np.int32)
    if n_before:
        nbow_means.one_less_products(embeddings, query_ids, query_weights, means, offsets, places, all_values[0])
    a, starts = query_weights.astype(np.float32), np.empty((len(solves), n), np.float32)
    for solve in range(len(solves)):
        for i in range(n):
            starts[solve, i] = 1 / n if solves[solve, 2] else query_weights[i]
    scaling.scale_many(
        np.zeros(1, np.int64), places, n <= short_scaling.MOST_WORDS, cost[:n_terms], scale, index, offsets, places,
        a, weights.astype(np.float32), starts, solves[:, 0].copy(), over_relaxed, solves[:, 1].astype(np.int64),
        stop_below, smallest, all_values[n_before:], all_errors[n_before:], all_iterations[n_before:],
    )  # fmt: skip
    values[:], errors[:], iterations[:] = 0, all_errors[-1], all_iterations[-1]
    for part in range(len(shares)):
        for candidate in range(n_candidates):
            if not all_values[part, candidate] >= 0:
                return -2
        if shares[part] > 0:  # else a candidate without a word would be at 0 · inf
            _scale(all_values[part], shares[part])
            values += all_values[part]
    return -1


@compiled
def _scale(values: Double, factor: float) -> None:
    """Multiplies in place. In a loop of its own each product is rounded as it is where the steps are taken one by one:
    a machine that adds without rounding first would change the last digit."""
    for k in range(len(values)):
        values[k] *= factor
