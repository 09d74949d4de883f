"""The compiled loops around the iterations: distinct words, tables of costs, one-sided bounds."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import fixed_point, products, simd
from reranker.transport.kernels.arrays import Float, Ints, ShortInts, Single
from reranker.transport.kernels.compiling import compiled, inlined

# Terms that a thread takes at once: whole runs of `products.N_TERMS`.
TERMS_AT_ONCE = 16 * products.N_TERMS


@compiled
def deduplicate(
    term_ids: ShortInts, offsets: Ints, first: int, max_terms: int, n_terms: int
) -> tuple[int, ShortInts, ShortInts]:
    """Takes candidates from `first` on while they have at most `max_terms` distinct terms together (one at least).

    Which of the `n_terms` were met is kept in a bit each, and a term's place is the number of bits before its own: that
    is little enough for the caches, where a number for each term is not.

    Returns:
        The candidate after the last one taken; the (k,) distinct terms, ascending; for each word of the taken
        candidates, its place among them.
    """
    met = np.zeros(n_terms // 64 + 1, np.uint64)
    longest = 0
    for candidate in range(first, len(offsets) - 1):
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
    added = np.empty(longest, np.int32)
    n_distinct, last = 0, first
    while last < len(offsets) - 1:
        n_added = 0
        for word in range(offsets[last], offsets[last + 1]):
            block, bit = _bit(term_ids[word])
            added[n_added] = term_ids[word]
            n_added += met[block] & bit == 0  # without a branch, which would go either way as often
            met[block] |= bit
        if n_distinct + n_added > max_terms and last > first:
            for k in range(n_added):
                block, bit = _bit(added[k])
                met[block] ^= bit
            break
        n_distinct += n_added
        last += 1
    distinct, before = np.empty(n_distinct, np.int32), np.empty(len(met), np.int32)
    k = 0
    for block in range(len(met)):
        before[block] = k
        left = met[block]
        while left:
            rest = left & (left - np.uint64(1))
            distinct[k] = 64 * block + simd.n_ones((left ^ rest) - np.uint64(1))
            left = rest
            k += 1
    start = offsets[first]
    index = np.empty(offsets[last] - start, np.int32)
    for word in range(len(index)):
        block, bit = _bit(term_ids[start + word])
        index[word] = before[block] + simd.n_ones(met[block] & (bit - np.uint64(1)))
    return last, distinct, index


@inlined
def _bit(term: int) -> tuple[int, np.uint64]:
    """The block of 64 that a term is in, and its bit there."""
    return term >> 6, np.uint64(1) << np.uint64(term & 63)


@compiled
def fill_tables(
    counter: Ints,
    embeddings: Float,
    term_ids: ShortInts,
    n_terms: int,
    words: Float,
    factors: Single,
    query_rows: Float,
    query_ids: ShortInts,
    query_norms: Float,
    close: float,
    euclidean: bool,
    cost: Float,
    unsound: Ints,
) -> None:
    """Writes rows of the cost while they are in the first-level cache.

    With s = max(0, ‖x‖² + ‖y‖² - 2 <x, y>) the Euclidean cost is sqrt(s), the cosine cost s / 2.

    Args:
        counter: (1,) where the next thread is to begin.
        embeddings: in float32; `term_ids`: which of them to read, and twice `products.N_TERMS` more beyond the
            `n_terms` that count.
        words, factors, query_rows: the query's embeddings, as `products.panel` lays them and as (n, dim).
        query_norms: (width,) squared norms; of float32 all rows, the terms' too, are taken to have 1.
        close: a pair whose Euclidean cost is under it is computed again from the difference.
        euclidean: whether the cost is the Euclidean one.
        cost: (at least n_terms and a few more, width).
        unsound: (1,) set to the place of a term whose products are not finite.
    """
    one, limit = cost.dtype.type(1), cost.dtype.type(close * close)
    room = np.zeros((products.N_TERMS, embeddings.shape[1] + embeddings.shape[1] % fixed_point.DIMS_TOGETHER), np.int16)
    while True:
        first = simd.claim(counter, TERMS_AT_ONCE)
        if first >= n_terms:
            break
        for start in range(first, min(first + TERMS_AT_ONCE, n_terms), products.N_TERMS):
            products.products(embeddings, term_ids, start, words, factors, room, cost)
            for j in range(start, min(start + products.N_TERMS, n_terms)):
                row, term = cost[j], embeddings[term_ids[j]]
                if not np.isfinite(row[0]):  # NaN and inf in an embedding show in each of its products
                    unsound[0] = j
                norm = one if cost.itemsize == 4 else _squared_norm(term)
                if _products_to_squares(row, norm, query_norms, limit):
                    for i in range(len(query_ids)):
                        if row[i] < limit:
                            row[i] = 0 if query_ids[i] == term_ids[j] else _squared_distance(query_rows[i], term)
                if euclidean:
                    for i in range(len(row)):
                        row[i] = np.sqrt(row[i])
                else:
                    for i in range(len(row)):
                        row[i] *= cost.dtype.type(0.5)


@inlined
def _products_to_squares(row: Float, norm: float, query_norms: Float, limit: float) -> bool:
    """Turns inner products with a term into squared distances, in place; whether any is below the limit."""
    zero, any_near = row.dtype.type(0), False
    for i in range(len(row)):
        squared = norm + query_norms[i] - row.dtype.type(2) * row[i]
        row[i] = squared if squared > zero else zero
        any_near |= row[i] < limit
    return any_near


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
    cost: Float, index: ShortInts, offsets: Ints, places: Ints, a: Float, b: Float,
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
