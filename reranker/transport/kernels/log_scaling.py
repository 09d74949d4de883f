"""Tables of costs in, distances out: Sinkhorn iterations with the logarithms of the scalings, for any epsilon."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import simd
from reranker.transport.kernels.arrays import Float, Ints, ShortInts
from reranker.transport.kernels.compiling import compiled
from reranker.transport.kernels.tolerances import SHRUNK

# In the place of log 0, which would make NaN of its difference with itself.
_LOG_OF_NOTHING = -1e300


@compiled
def scale_many_log(
    cost: Float,
    index: ShortInts,
    offsets: Ints,
    places: Ints,
    log_a: Float,
    log_b: Float,
    log_start: Float,
    epsilon: float,
    power: float,
    over_relaxed: bool,
    n_iterations: int,
    stop_below: float,
    values: Float,
    errors: Float,
    iterations: ShortInts,
) -> None:
    """`scaling.scale_many` with the logarithms of w and z (Peyré and Cuturi 2019, 4.4); float64 only."""
    n, width = len(log_a), cost.shape[1]
    largest, total = np.empty(width), np.empty(width)
    for k in range(len(places)):
        start, end = offsets[places[k]], offsets[places[k] + 1]
        if start == end:
            continue
        tile = np.full((end - start, width), _LOG_OF_NOTHING)
        for j in range(end - start):
            for i in range(n):
                tile[j, i] = -cost[index[start + j], i] / epsilon
        log_w, log_z = np.zeros(width), np.full(end - start, _LOG_OF_NOTHING)
        log_w[:n] = log_start
        change = before = np.inf
        exact = True
        for iteration in range(n_iterations):
            middle = 1 < iteration < n_iterations - 1
            further = over_relaxed and middle and stop_below <= change < SHRUNK * before  # `reference.over_relaxes`
            before = change
            change = _rescale_log(tile, log_w, log_z, log_b[start:end], power, further)
            settled = iteration > 0 and change < stop_below
            at_end = iteration == n_iterations - 1 or (settled and exact and not further)
            exact = settled or not further
            _scale_rows_log(tile, log_w, log_z, log_a, not exact, largest, total)
            iterations[k] = iteration + 1
            if at_end:
                break
        distance = 0.0
        for j in range(end - start):
            for i in range(n):
                distance -= np.exp(tile[j, i] + log_w[i] + log_z[j]) * tile[j, i] * epsilon
        values[k] = distance
        errors[k] = _rescale_log(tile, log_w, log_z, log_b[start:end], power, False)


@compiled
def _rescale_log(tile: Float, log_w: Float, log_z: Float, log_b: Float, power: float, further: bool) -> float:
    """Sets log z_j = log b_j - power log(K'w)_j; returns how far the column sums were from it (L1)."""
    m, width = tile.shape
    step, change = simd.n_lanes(tile), 0.0
    for j in range(m):
        row, most = j * width, simd.spread(tile, _LOG_OF_NOTHING)
        for i in range(0, width, step):
            most = simd.larger(simd.add(simd.load(tile, row + i), simd.load(log_w, i)), most)
        largest = simd.largest_of(most)
        most, total = simd.spread(tile, largest), simd.spread(tile, 0.0)
        for i in range(0, width, step):
            term = simd.add(simd.load(tile, row + i), simd.load(log_w, i))
            total = simd.add(total, simd.exponential(simd.subtract(term, most)))
        reached = largest + np.log(simd.total(total))
        before, plain = log_z[j], log_b[j] - power * reached
        log_z[j] = plain + 0.5 * (plain - before) if further else plain
        change += abs(np.exp(plain + reached) - np.exp(before + reached))
    return change


@compiled
def _scale_rows_log(
    tile: Float, log_w: Float, log_z: Float, log_a: Float, further: bool, largest: Float, total: Float
) -> None:
    """Sets log w_i = log a_i - log(K z)_i; row by row, so that the tile is read as it lies.

    Args:
        largest, total: (width,) to work in.
    """
    m, width = tile.shape
    step = simd.n_lanes(tile)
    largest[:] = _LOG_OF_NOTHING
    total[:] = 0
    for j in range(m):
        row, z = j * width, simd.spread(tile, log_z[j])
        for i in range(0, width, step):
            term = simd.add(simd.load(tile, row + i), z)
            simd.store(largest, i, simd.larger(term, simd.load(largest, i)))
    for j in range(m):
        row, z = j * width, simd.spread(tile, log_z[j])
        for i in range(0, width, step):
            above = simd.subtract(simd.add(simd.load(tile, row + i), z), simd.load(largest, i))
            simd.store(total, i, simd.add(simd.load(total, i), simd.exponential(above)))
    for i in range(len(log_a)):
        plain = log_a[i] - largest[i] - np.log(total[i])
        log_w[i] = plain + 0.5 * (plain - log_w[i]) if further else plain
