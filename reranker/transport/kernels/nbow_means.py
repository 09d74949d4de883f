"""The compiled loops of `nbow`: mean embeddings of many bags, their rows read where they lie."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import simd
from reranker.transport.kernels.arrays import Double, Ints, ShortInts, Single
from reranker.transport.kernels.compiling import compiled
from reranker.transport.kernels.tolerances import VANISHING_NORM

# Bags that a thread takes at once.
BAGS_AT_ONCE = 8
# float32 numbers of a cache line.
_LINE = 16


@compiled
def fill_means(
    counter: Ints, embeddings: Single, row_ids: ShortInts, weights: Double, offsets: Ints, places: Ints,
    means: Single, unsound: Ints,
) -> None:  # fmt: skip
    """Writes the weighted mean embeddings of the bags at some places, of length 1, or 0 where the mean is 0.

    Args:
        counter: (1,) where the next thread is to begin.
        embeddings, row_ids, weights: each word's row and weight; offsets: (n_bags + 1,).
        means: (len(places), dim).
        unsound: (1,) set to a place of `places` whose mean is not finite.
    """
    sums = np.empty(means.shape[1], np.float64)
    while True:
        first = simd.claim(counter, BAGS_AT_ONCE)
        if first >= len(places):
            break
        for k in range(first, min(first + BAGS_AT_ONCE, len(places))):
            start, end = offsets[places[k]], offsets[places[k] + 1]
            if not _fill_mean(embeddings, row_ids[start:end], weights[start:end], sums, means[k]):
                unsound[0] = k


@compiled
def _fill_mean(embeddings: Single, row_ids: ShortInts, weights: Double, sums: Double, mean: Single) -> bool:
    """Writes the weighted mean of some rows, of length 1 or 0; whether it is finite. `sums` is to work in."""
    _add_rows(embeddings, row_ids, weights, sums)
    squared = 0.0
    for i in range(len(sums)):
        squared += sums[i] * sums[i]
    scale = 1 / np.sqrt(squared) if squared > VANISHING_NORM**2 else 0.0
    for i in range(len(sums)):
        mean[i] = sums[i] * scale
    return bool(np.isfinite(squared))


@compiled
def _add_rows(embeddings: Single, row_ids: ShortInts, weights: Double, sums: Double) -> None:
    """Writes the weighted sum of rows, four at a time, the next four being fetched meanwhile; in float64, since the
    words of a long bag cancel most of each other."""
    last, dim = len(row_ids) - 1, embeddings.shape[1]
    sums[:] = 0
    for word in range(0, len(row_ids), 4):
        # Past the end: the last word again, without weight.
        r0, r1, r2, r3 = word, min(word + 1, last), min(word + 2, last), min(word + 3, last)
        w0 = weights[r0]
        w1 = weights[r1] if word + 1 <= last else 0.0
        w2 = weights[r2] if word + 2 <= last else 0.0
        w3 = weights[r3] if word + 3 <= last else 0.0
        for following in range(word + 4, min(word + 8, last + 1)):
            for i in range(0, dim, _LINE):
                simd.prefetch(embeddings, np.int64(row_ids[following]) * dim + i)
        x0, x1 = embeddings[row_ids[r0]], embeddings[row_ids[r1]]
        x2, x3 = embeddings[row_ids[r2]], embeddings[row_ids[r3]]
        for i in range(dim):
            sums[i] += w0 * x0[i] + w1 * x1[i] + w2 * x2[i] + w3 * x3[i]


@compiled
def one_less_products(
    embeddings: Single, row_ids: ShortInts, weights: Double, means: Single, offsets: Ints, places: Ints,
    values: Double,
) -> None:  # fmt: skip
    """Writes 1 - <mean, query mean>, 0 or more, of the bags at some places that have words.

    Args:
        embeddings, row_ids, weights: each query word's row and weight.
        means: (len(places), dim) of the bags.
    """
    query = np.empty(means.shape[1], np.float32)
    _fill_mean(embeddings, row_ids, weights, np.empty(means.shape[1], np.float64), query)
    for k in range(len(places)):
        if offsets[places[k]] < offsets[places[k] + 1]:
            total = 0.0
            for i in range(len(query)):
                total += np.float64(means[k, i]) * np.float64(query[i])
            values[k] = max(1 - total, 0.0)
