"""The compiled loops around the iterations: distinct words, tables of costs and kernels, one-sided bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.transport import lanes, products
from reranker.transport.compiling import compiled, inlined

Float = NDArray[Any]  # float32 or float64: Numba compiles for each
Ints = NDArray[np.int64]

# Terms that a thread takes at once: whole runs of `products.N_TERMS`.
TERMS_AT_ONCE = 16 * products.N_TERMS


@compiled
def deduplicate(
    term_ids: NDArray[np.int32], offsets: Ints, first: int, max_terms: int, place: NDArray[np.int32]
) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    """Takes candidates from `first` on while they have at most `max_terms` distinct terms together (one at least).

    Args:
        place: (n_terms,) zeros, and zeros again afterwards.

    Returns:
        The candidate after the last one taken; the (k,) distinct terms in order of appearance; for each word of
        the taken candidates, its place among them.
    """
    n_words = offsets[-1] - offsets[first]
    distinct = np.empty(n_words, np.int32)
    index = np.empty(n_words, np.int32)
    n_distinct, n_taken, last = 0, 0, first
    while last < len(offsets) - 1:
        before = n_distinct
        for word in range(offsets[last], offsets[last + 1]):
            term = term_ids[word]
            if place[term] == 0:
                distinct[n_distinct] = term
                n_distinct += 1
                place[term] = n_distinct
            index[word - offsets[first]] = place[term] - 1
        if n_distinct > max_terms and last > first:
            for k in range(before, n_distinct):
                place[distinct[k]] = 0
            n_distinct = before
            break
        n_taken = offsets[last + 1] - offsets[first]
        last += 1
    for k in range(n_distinct):
        place[distinct[k]] = 0
    return last, distinct[:n_distinct].copy(), index[:n_taken].copy()


@compiled
def fill_tables(
    counter: Ints,
    embeddings: Float,
    row_ids: NDArray[np.int32],
    term_ids: NDArray[np.int32],
    n_terms: int,
    words: Float,
    query_rows: Float,
    query_ids: NDArray[np.int32],
    query_norms: Float,
    close: float,
    euclidean: bool,
    scale: float,
    cost: Float,
    kernel: Float,
    unsound: Ints,
) -> None:
    """Writes rows of the cost and of the kernel, exp(scale cost), while they are in the first-level cache.

    With s = max(0, ‖x‖² + ‖y‖² - 2 <x, y>) the Euclidean cost is sqrt(s), the cosine cost s / 2.

    Args:
        counter: (1,) where the next thread is to begin.
        embeddings, row_ids: the terms' embeddings in float32 and which of them to read; `term_ids`: which terms these
            are. Both lists go on for twice `products.N_TERMS` beyond the `n_terms` that count.
        words, query_rows: the query's embeddings, as `products.panel` lays them and as (n, dim).
        query_norms: (width,) squared norms; of float32 all rows, the terms' too, are taken to have 1.
        close: a pair whose Euclidean cost is under it is computed again from the difference.
        euclidean: whether the cost is the Euclidean one.
        cost, kernel: (at least n_terms and a few more, width); a kernel of no rows is not wanted.
        unsound: (1,) set to the place of a term whose embedding is not finite.
    """
    n_lanes, width = lanes.n_lanes(cost), cost.shape[1]
    one, limit = cost.dtype.type(1), cost.dtype.type(close * close)
    zeros, minus_two = lanes.spread(cost, cost.dtype.type(0)), lanes.spread(cost, cost.dtype.type(-2))
    half = lanes.spread(cost, cost.dtype.type(0.5))
    while True:
        first = lanes.claim(counter, TERMS_AT_ONCE)
        if first >= n_terms:
            break
        for start in range(first, min(first + TERMS_AT_ONCE, n_terms), products.N_TERMS):
            products.products(embeddings, row_ids, start, words, cost)
            for j in range(start, min(start + products.N_TERMS, n_terms)):
                if not np.isfinite(cost[j, 0]):  # NaN and inf in an embedding show in each of its products
                    unsound[0] = j
                norm = one if cost.itemsize == 4 else _squared_norm(embeddings[row_ids[j]])
                norms, least = lanes.spread(cost, norm), lanes.spread(cost, norm + 2)
                for i in range(j * width, (j + 1) * width, n_lanes):
                    both = lanes.add(norms, lanes.load(query_norms, i - j * width))
                    squared = lanes.larger(lanes.multiply_add(minus_two, lanes.load(cost, i), both), zeros)
                    least = lanes.smaller(squared, least)
                    lanes.store(cost, i, squared)
                if lanes.least_of(least) < limit:
                    for i in range(len(query_ids)):
                        if cost[j, i] < limit:
                            same = query_ids[i] == term_ids[j]
                            cost[j, i] = 0 if same else _squared_distance(query_rows[i], embeddings[row_ids[j]])
                if euclidean:
                    for i in range(j * width, (j + 1) * width, n_lanes):
                        lanes.store(cost, i, lanes.root(lanes.load(cost, i)))
                else:
                    for i in range(j * width, (j + 1) * width, n_lanes):
                        lanes.store(cost, i, lanes.multiply(half, lanes.load(cost, i)))
                if len(kernel):
                    _fill_kernel_row(cost, kernel, j, len(query_ids), scale)


@compiled
def fill_kernel(counter: Ints, cost: Float, n: int, scale: float, kernel: Float) -> None:
    """Writes exp(scale cost), 0 from column n on."""
    while True:
        first = lanes.claim(counter, TERMS_AT_ONCE)
        if first >= len(kernel):
            break
        for j in range(first, min(first + TERMS_AT_ONCE, len(kernel))):
            _fill_kernel_row(cost, kernel, j, n, scale)


@inlined
def _fill_kernel_row(cost: Float, kernel: Float, j: int, n: int, scale: float) -> None:
    width, n_lanes = cost.shape[1], lanes.n_lanes(cost)
    scales = lanes.spread(cost, cost.dtype.type(scale))
    for i in range(j * width, (j + 1) * width, n_lanes):
        lanes.store(kernel, i, lanes.exponential(lanes.multiply(scales, lanes.load(cost, i))))
    for i in range(n, width):
        kernel[j, i] = 0


@compiled
def _squared_norm(x: Float) -> float:
    """‖x‖², summed in float64."""
    total = 0.0
    for k in range(len(x)):
        total += np.float64(x[k]) ** 2  # `float` would leave float32 as it is
    return total


@compiled
def _squared_distance(x: Float, y: Float) -> float:
    """‖x - y‖², summed in float64."""
    total = 0.0
    for k in range(len(x)):
        difference = np.float64(x[k]) - np.float64(y[k])
        total += difference * difference
    return total


@compiled
def nearest_words(
    cost: Float, index: NDArray[np.int32], offsets: Ints, places: Ints, a: Float, b: Float,
    from_query: Float, to_document: Float,
) -> None:  # fmt: skip
    """Writes sum_i a_i min_j C_ij and sum_j b_j min_i C_ij of the candidates at some places (Kusner 2015, 4)."""
    n = len(a)
    nearest = np.empty(n, cost.dtype)
    for k in range(len(places)):
        start, end = offsets[places[k]], offsets[places[k] + 1]
        if start == end:
            continue
        nearest[:] = np.inf
        total = 0.0
        for word in range(start, end):
            row = cost[index[word]]
            least = row[0]
            for i in range(n):
                least = min(least, row[i])
                nearest[i] = min(nearest[i], row[i])
            total += b[word] * least
        to_document[k] = total
        total = 0.0
        for i in range(n):
            total += a[i] * nearest[i]
        from_query[k] = total
