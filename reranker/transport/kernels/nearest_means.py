"""The compiled loop that finds how near documents lie to the nearest of a sample of queries."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import products
from reranker.transport.kernels.arrays import Float, ShortInts, Single
from reranker.transport.kernels.buffers import floats
from reranker.transport.kernels.compiling import compiled


@compiled
def mean_products(
    rows: Single,
    row_ids: ShortInts,
    words: Single,
    width: int,
    n_words: int,
    n_nearest: int,
    means: Float,
) -> None:
    """Writes the mean of the `n_nearest` largest inner products of each row with some words.

    Args:
        rows: (n, dim); row_ids: 0 to n - 1, and as many more as `products` reads ahead.
        words: (`n_words`, dim) rows as `products.strips` lays them, filled up to `width`.
        means: (n,) float64.
    """
    table = floats(products.N_TERMS * width, rows).reshape(products.N_TERMS, width)
    nearest, room, factors = np.empty(n_nearest, np.float32), np.zeros((1, 1), np.int16), np.empty(0, np.float32)
    for first in range(0, len(rows), products.N_TERMS):
        products.products(rows, row_ids[first:], 0, words, factors, room, table)
        for row in range(first, min(first + products.N_TERMS, len(rows))):
            found = table[row - first]
            nearest[:] = found[:n_nearest]
            least = np.argmin(nearest)
            for word in range(n_nearest, n_words):
                if found[word] > nearest[least]:
                    nearest[least] = found[word]
                    least = np.argmin(nearest)
            total = 0.0
            for k in range(n_nearest):
                total += np.float64(nearest[k])
            means[row] = total / n_nearest
