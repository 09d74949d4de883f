"""The compiled loops of `nbow`: mean embeddings of many bags, their rows read where they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.kernels import simd
from reranker.transport.kernels.compiling import compiled
from reranker.transport.kernels.tolerances import VANISHING_NORM

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bags that a thread takes at once.
BAGS_AT_ONCE = 8


@compiled
def fill_means(
    counter: Ints, embeddings: Single, row_ids: NDArray[np.int32], weights: Double, offsets: Ints, places: Ints,
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
            _add_rows(embeddings, row_ids[start:end], weights[start:end], sums)
            squared = 0.0
            for i in range(len(sums)):
                squared += sums[i] * sums[i]
            if not np.isfinite(squared):
                unsound[0] = k
            scale = 1 / np.sqrt(squared) if squared > VANISHING_NORM**2 else 0.0
            for i in range(len(sums)):
                means[k, i] = sums[i] * scale


@compiled
def _add_rows(embeddings: Single, row_ids: NDArray[np.int32], weights: Double, sums: Double) -> None:
    """Writes the weighted sum of rows; in float64, since the words of a long bag cancel most of each other."""
    sums[:] = 0
    for word in range(len(row_ids)):
        row, weight = embeddings[row_ids[word]], weights[word]
        for i in range(len(sums)):
            sums[i] += weight * row[i]


@compiled
def one_less_products(means: Single, query: Double, offsets: Ints, places: Ints, values: Double) -> None:
    """Writes 1 - <mean, query>, 0 or more, of the bags at some places that have words."""
    for k in range(len(places)):
        if offsets[places[k]] < offsets[places[k] + 1]:
            total = 0.0
            for i in range(len(query)):
                total += np.float64(means[k, i]) * query[i]
            values[k] = max(1 - total, 0.0)
