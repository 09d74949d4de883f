"""The compiled loops that turn costs into lower bounds of transport."""

from __future__ import annotations

from typing import Any

import numpy as np

from reranker.transport.kernels import simd
from reranker.transport.kernels.arrays import Double, Ints, ShortInts, Single
from reranker.transport.kernels.compiling import compiled


@compiled
def dual(
    cost: Double, index: ShortInts, offsets: Ints, places: Ints, a: Double, b: Double, epsilon: float,
    n_iterations: int, bounds: Double,
) -> None:  # fmt: skip
    """Writes a lower bound of `emd` of the candidates at some places.

    Args:
        cost: (k, width) table, one row a distinct term, the query's n words in the first columns.
        index: the row of each word; offsets: (n_candidates + 1,).
        a, b: (n,) and (n_words,) weights.
        bounds: (len(places),), left as it is where a candidate has no word or no bound is found.
    """
    longest = 0
    for place in places:
        longest = max(longest, offsets[place + 1] - offsets[place])
    tile, z = np.empty((longest, len(a)), np.float32), np.empty(longest, np.float32)
    single_a, single_b = a.astype(np.float32), b.astype(np.float32)
    w, sums = np.empty(len(a), np.float32), np.empty(len(a), np.float32)
    kernel, potential = np.empty(cost.shape[1], np.float64), np.empty(len(a), np.float64)
    scales = simd.spread(cost, -1 / epsilon)
    for k in range(len(places)):
        start, end = offsets[places[k]], offsets[places[k] + 1]
        if start == end:
            continue
        for j in range(end - start):
            row = index[start + j] * len(kernel)
            for i in range(0, len(kernel), simd.n_lanes(cost)):
                simd.store(kernel, i, simd.exponential(simd.multiply(scales, simd.load(cost, row + i))))
            for i in range(len(a)):
                tile[j, i] = kernel[i]
        _scale(tile[: end - start], single_a, single_b[start:end], n_iterations, w, z, sums)
        for i in range(len(a)):
            potential[i] = epsilon * np.log(w[i])
        value = dual_value(cost, index[start:end], a, b[start:end], potential)
        if np.isfinite(value):
            bounds[k] = value


@compiled
def _scale(tile: Single, a: Single, b: Single, n_iterations: int, w: Single, z: Single, sums: Single) -> None:
    """Sinkhorn's scalings of the query (w, times a) and the document (z, times b), over-relaxed between the second
    iteration and the last. Nothing is checked: see `dual_value`."""
    w[:] = a
    for iteration in range(n_iterations):
        further = 2 <= iteration < n_iterations - 1
        sums[:] = 0
        for j in range(len(b)):
            row, reached = tile[j], np.float32(0)
            for i in range(len(a)):
                reached += row[i] * w[i]
            scaled = b[j] / reached
            z[j] = scaled * np.sqrt(scaled / z[j]) if further else scaled
            for i in range(len(a)):
                sums[i] += row[i] * z[j]
        for i in range(len(a)):
            scaled = a[i] / sums[i]
            w[i] = scaled * np.sqrt(scaled / w[i]) if further else scaled


@compiled
def dual_value(cost: Double, index: ShortInts, a: Double, b: Double, potential: Double) -> Any:
    """<f, a> + <g, b> with g_j = min_i (C_ij - potential_i) and f_i = min_j (C_ij - g_j), float64.

    f_i + g_j <= C_ij by the second minimum, whatever the potential (n,) was; where the first is not finite, the value
    is not.
    """
    f, total = np.full(len(a), np.inf), 0.0
    for j in range(len(b)):
        row, g = cost[index[j]], np.inf
        for i in range(len(a)):
            g = min(g, row[i] - potential[i])
        total += b[j] * g
        for i in range(len(a)):
            f[i] = min(f[i], row[i] - g)
    for i in range(len(a)):
        total += a[i] * f[i]
    return total
