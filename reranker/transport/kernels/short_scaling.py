"""Sinkhorn iterations for short queries: the words of the document lie side by side in a register, not the query's.

`scaling.py` fills the query up to a whole register, so that 5 words cost as much as 16. Here a tile holds blocks of two
registers of document words; a block has its two registers for the first query word, then for the second, and so on.
Both halves of an iteration read a block while it is in the first-level cache, and nothing is summed across lanes but
the query's few sums.
"""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import simd
from reranker.transport.kernels.arrays import Float, ShortInts
from reranker.transport.kernels.compiling import compiled, inlined
from reranker.transport.kernels.targets import further_target, plain_target
from reranker.transport.kernels.tolerances import SHRUNK

# The rows of a document lie scattered over a table: while one is read, the one so many places on is fetched.
_AHEAD = 8
# Queries of up to this many words: a register of float32. With more, the order of `scaling.py` wastes little.
MOST_WORDS = 16


@compiled
def fill(tile: Float, costs: Float, cost: Float, factor: float, index: ShortInts, start: int, m: int, n: int) -> None:
    """Writes the costs of a document's m words, and exp(factor cost), into blocks; costs of 0, of words of no weight,
    fill the last block."""
    block, n_lanes = 2 * simd.n_lanes(tile), simd.n_lanes(tile)
    n_filled = (m + block - 1) // block * block
    costs[(n_filled - block) * n : n_filled * n] = 0
    for j in range(m):
        row = cost[index[start + j]]
        simd.prefetch(cost, index[start + min(j + _AHEAD, m - 1)] * cost.shape[1])
        place = j // block * block * n + j % block
        for i in range(n):
            costs[place + i * block] = row[i]
    scales = simd.spread(tile, tile.dtype.type(factor))
    for k in range(0, n_filled * n, n_lanes):
        simd.store(tile, k, simd.exponential(simd.multiply(scales, simd.load(costs, k))))


@compiled
def scale(
    tile: Float,
    m: int,
    w: Float,
    z: Float,
    sums: Float,
    a: Float,
    b: Float,
    power: float,
    over_relaxed: bool,
    n_iterations: int,
    stop_below: float,
    smallest: float,
) -> int:
    """As `scaling._scale`, for a tile that `fill` wrote.

    Args:
        w, a: (n,).
        z, b: m values, filled up to whole blocks; b with zeros.
        sums: n registers, to work in.
    """
    n, n_lanes = len(w), simd.n_lanes(tile)
    z[:] = 0
    change = before = np.inf
    exact = True  # whether the rows of the plan sum to a, so that a change is its marginal error
    for iteration in range(n_iterations):
        middle = 1 < iteration < n_iterations - 1
        further = over_relaxed and middle and stop_below <= change < SHRUNK * before  # `reference.over_relaxes`
        before = change
        sums[:] = 0
        change, least = _sweep(tile, m, w, z, sums, b, power, further, smallest)
        settled = iteration > 0 and change < stop_below
        last = iteration == n_iterations - 1 or (settled and exact and not further)
        exact = settled or not further
        for i in range(n):
            total = simd.total(simd.load(sums, i * n_lanes))
            if not total > smallest:
                return 0
            target = a[i] / total
            w[i] = target if exact else target * np.sqrt(target / max(w[i], smallest))
        if not least > smallest:
            return 0
        if last:
            return iteration + 1
    return n_iterations


@inlined
def _sweep(
    tile: Float, m: int, w: Float, z: Float, sums: Float, b: Float, power: float, further: bool, smallest: float
) -> tuple[float, float]:
    """z_j = b_j (1 / <K_j, w>)^power, and adds z_j K_j to `sums`, block by block; what `scaling._sweep` returns."""
    n, n_lanes = len(w), simd.n_lanes(tile)
    block = 2 * n_lanes
    change = simd.spread(tile, tile.dtype.type(0))
    least = simd.spread(tile, tile.dtype.type(np.inf))
    floor = simd.spread(tile, smallest)
    for j in range(0, m, block):
        first = second = simd.spread(tile, tile.dtype.type(0))
        for i in range(n):
            scaling, place = simd.spread(tile, w[i]), j * n + i * block
            first = simd.multiply_add(scaling, simd.load(tile, place), first)
            second = simd.multiply_add(scaling, simd.load(tile, place + n_lanes), second)
        least = simd.smaller(first, simd.smaller(second, least))
        # In this order a NaN stays a NaN.
        x = plain_target(simd.load(b, j), simd.larger(floor, first), power)
        y = plain_target(simd.load(b, j + n_lanes), simd.larger(floor, second), power)
        x_before, y_before = simd.load(z, j), simd.load(z, j + n_lanes)
        change = simd.multiply_add(simd.size(simd.subtract(x, x_before)), first, change)
        change = simd.multiply_add(simd.size(simd.subtract(y, y_before)), second, change)
        if further:
            x, y = further_target(x, x_before, floor), further_target(y, y_before, floor)
        simd.store(z, j, x)
        simd.store(z, j + n_lanes, y)
        for i in range(n):
            place = j * n + i * block
            added = simd.multiply_add(y, simd.load(tile, place + n_lanes), simd.multiply(x, simd.load(tile, place)))
            simd.store(sums, i * n_lanes, simd.add(simd.load(sums, i * n_lanes), added))
    return float(simd.total(change)), simd.least_of(least)


@compiled
def pay(tile: Float, costs: Float, w: Float, z: Float, b: Float, m: int, power: float) -> tuple[float, float]:
    """<plan, cost> and the marginal error of the plan diag(w) K diag(z)."""
    n, n_lanes, block = len(w), simd.n_lanes(tile), 2 * simd.n_lanes(tile)
    distance = simd.spread(tile, tile.dtype.type(0))
    error = simd.spread(tile, tile.dtype.type(0))
    for j in range(0, m, n_lanes):
        start = j // block * block * n + j % block
        reached = payment = simd.spread(tile, tile.dtype.type(0))
        for i in range(n):
            place = start + i * block
            mass = simd.multiply(simd.spread(tile, w[i]), simd.load(tile, place))
            reached = simd.add(reached, mass)
            payment = simd.multiply_add(mass, simd.load(costs, place), payment)
        scaled = simd.load(z, j)
        distance = simd.multiply_add(scaled, payment, distance)
        off = simd.size(simd.subtract(plain_target(simd.load(b, j), reached, power), scaled))
        error = simd.multiply_add(off, reached, error)
    return float(simd.total(distance)), float(simd.total(error))
