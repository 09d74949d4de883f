"""Tables of costs in, distances out: Sinkhorn iterations on the scalings themselves.

A table holds one row per distinct document term and one column per query word, filled with empty columns up to a whole
number of vector registers. The kernel of a document's rows, exp(-cost / epsilon), becomes a tile of its own, in the
order in which it is read (`sinkhorn_iteration.py`). One sweep over it, group of rows by group of rows, does both
scalings.
(A table of kernels beside that of costs, so that no term's is computed twice, takes more time to write and to read.)
"""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels import short_scaling, simd, sinkhorn_iteration
from reranker.transport.kernels.arrays import Double, Float, Ints, ShortInts
from reranker.transport.kernels.buffers import floats, rounded_up
from reranker.transport.kernels.compiling import compiled, inlined
from reranker.transport.kernels.targets import further_target, plain_target
from reranker.transport.kernels.tolerances import SHRUNK

# A sum under these has lost digits to denormal numbers: 2^23 (2^52) times the smallest normal float32 (float64).
SMALLEST = {"float32": 1e-31, "float64": 1e-292}
# The rows of a document lie scattered over a table: while one is read, the one so many places on is fetched.
_AHEAD = 4


@compiled
def scale_many(
    counter: Ints,
    order: Ints,
    is_short: bool,
    cost: Float,
    scale: float,
    index: ShortInts,
    offsets: Ints,
    places: Ints,
    a: Float,
    b: Float,
    starts: Float,
    powers: Double,
    over_relaxed: bool,
    most_iterations: Ints,
    stop_below: float,
    smallest: float,
    values: Double,
    errors: Double,
    iterations: ShortInts,
) -> None:
    """Writes the distances, marginal errors and iterations of the candidates at some places; NaN where the range did
    not suffice. Several solves share the kernel of a candidate, which is computed once.

    Args:
        counter: (1,) how many candidates threads have taken; order: in which they are taken, (len(places),).
        is_short: whether the document's words fill the registers (`short_scaling`) and not the query's.
        cost: (k, width) table, finite also beyond column n; scale: -1 / epsilon.
        index: (n_words,) rows of the tables; b: (n_words,) weights, of the tables' type like a (n,).
        starts: (n_solves, n) the first scalings; powers, most_iterations: (n_solves,).
        smallest: a sum under it has lost digits.
        values, errors, iterations: (n_solves, len(places)).
    """
    longest, n, n_lanes = 0, len(a), simd.n_lanes(cost)
    for candidate in places:
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
    longest = rounded_up(longest, 2 * n_lanes)
    width = n if is_short else cost.shape[1]
    tile, costs = floats(longest * width, cost), floats(longest * width if is_short else 0, cost)
    w, sums = floats(width, tile), floats(width * n_lanes if is_short else width, tile)
    z, weights, reached = floats(longest, tile), floats(longest, tile), floats(longest, tile)
    wanted, empty_columns = floats(width, tile), floats(width, tile)
    wanted[:n] = a
    empty_columns[n:] = 1
    while True:
        claimed = simd.claim(counter, 1)
        if claimed >= len(order):
            break
        k = order[claimed]
        start, end = offsets[places[k]], offsets[places[k] + 1]
        if start == end:
            continue
        m = end - start
        if is_short:
            short_scaling.fill(tile, costs, cost, scale, index, start, m, n)
        else:
            _fill(tile, cost, scale, index, start, m)
        weights[:m] = b[start:end]
        weights[m:] = 0
        for solve in range(len(powers)):
            w[:n] = starts[solve]
            power, n_most, floor = powers[solve], most_iterations[solve], cost.dtype.type(smallest)
            if is_short:
                n_done = short_scaling.scale(
                    tile, m, w, z, sums, a, weights, power, over_relaxed, n_most, stop_below, floor
                )
                values[solve, k], errors[solve, k] = short_scaling.pay(tile, costs, w, z, weights, m, power)
            else:
                n_done = _scale(
                    tile, m, w, z, sums, wanted, weights, empty_columns, power, over_relaxed, n_most, stop_below, floor
                )
                values[solve, k], errors[solve, k] = _pay(tile, cost, index, start, w, z, weights, m, power, reached)
            iterations[solve, k] = n_done
            if n_done == 0:
                values[solve, k] = errors[solve, k] = np.nan


@compiled
def _fill(tile: Float, cost: Float, scale: float, index: ShortInts, start: int, m: int) -> None:
    """Writes exp(scale cost) of a document's m words into groups (`groups`); copies of the first, as words of no
    weight, fill the last group."""
    width, n_lanes, n_group = cost.shape[1], simd.n_lanes(tile), sinkhorn_iteration.size(tile)
    scales = simd.spread(tile, tile.dtype.type(scale))
    for j in range(rounded_up(m, n_group)):
        row = index[start + j if j < m else start] * width
        ahead = index[start + min(j + _AHEAD, m - 1)] * width
        place = j // n_group * n_group * width + j % n_group * n_lanes
        for i in range(0, width, n_lanes):
            simd.prefetch(cost, ahead + i)
            kernel = simd.exponential(simd.multiply(scales, simd.load(cost, row + i)))
            simd.store(tile, place + i * n_group, kernel)


@compiled
def _scale(
    tile: Float,
    m: int,
    w: Float,
    z: Float,
    sums: Float,
    a: Float,
    b: Float,
    empty_columns: Float,
    power: float,
    over_relaxed: bool,
    n_iterations: int,
    stop_below: float,
    smallest: float,
) -> int:
    """Iterates z = b (1 / K'w)^power, w = a / (K z) in place (`reference.scaled_plan`).

    Args:
        tile: m rows of `width`, in groups (`groups`), the last filled up with any row of the kernel.
        z, b: m values, filled up to whole registers; b with zeros.
        w, sums, a, empty_columns: (width,); in the columns beyond the query's words w and a are 0, and
            `empty_columns`, which is 0 elsewhere, is 1.

    Returns:
        How many iterations it took; 0 where a sum has lost digits. What left the range altogether is NaN in all of w
        and z.
    """
    step = simd.n_lanes(tile)
    z[:] = 0
    change = before = np.inf
    exact = True  # whether the rows of the plan sum to a, so that a change is its marginal error
    for iteration in range(n_iterations):
        middle = 1 < iteration < n_iterations - 1
        further = over_relaxed and middle and stop_below <= change < SHRUNK * before  # `reference.over_relaxes`
        before = change
        for i in range(0, len(w), step):
            simd.store(sums, i, simd.load(empty_columns, i))
        change, low = _sweep(tile, m, w, z, sums, b, power, further, smallest, iteration % 2 == 1)
        least = simd.spread(tile, low)
        settled = iteration > 0 and change < stop_below
        last = iteration == n_iterations - 1 or (settled and exact and not further)
        exact = settled or not further
        for i in range(0, len(w), step):
            total = simd.load(sums, i)
            least = simd.smaller(total, least)
            target = simd.divide(simd.load(a, i), total)
            if not exact:
                target = further_target(target, simd.load(w, i), simd.spread(tile, smallest))
            simd.store(w, i, target)
        if not simd.least_of(least) > smallest:
            return 0
        if last:
            return iteration + 1
    return n_iterations


@inlined
def _sweep(
    tile: Float,
    m: int,
    w: Float,
    z: Float,
    sums: Float,
    b: Float,
    power: float,
    further: bool,
    smallest: float,
    backwards: bool,
) -> tuple[float, float]:
    """One pass over the rows of a tile: z_j = b_j (1 / <K_j, w>)^power, and adds z_j K_j to `sums`.

    Group by group: what is added is the group that was reached before, so that it is still in the first-level cache and
    its scalings, which take a while, are there. Forwards and `backwards` in turn: the last groups of one sweep are
    still near when the next begins with them.

    Returns:
        How far the column sums of the plan were from where they should be (L1), and the smallest <K_j, w>.
    """
    width, n_group = len(w), sinkhorn_iteration.size(tile)
    change = sinkhorn_iteration.spread(tile, tile.dtype.type(0))
    least = sinkhorn_iteration.spread(tile, tile.dtype.type(np.inf))
    n_groups = rounded_up(m, n_group) // n_group
    start, step = ((n_groups - 1) * n_group, -n_group) if backwards else (0, n_group)
    for k in range(n_groups):
        j = start + k * step
        reached = sinkhorn_iteration.reached(tile, j * width, w)
        least = simd.smaller(reached, least)
        # In this order a NaN stays a NaN.
        in_range = simd.larger(sinkhorn_iteration.spread(tile, smallest), reached)
        before, plain = sinkhorn_iteration.load(z, j), plain_target(sinkhorn_iteration.load(b, j), in_range, power)
        change = simd.multiply_add(simd.size(simd.subtract(plain, before)), reached, change)
        simd.store(z, j, further_target(plain, before, sinkhorn_iteration.spread(tile, smallest)) if further else plain)
        if k > 0:
            sinkhorn_iteration.add(tile, (j - step) * width, z, j - step, sums)
    last = start + (n_groups - 1) * step
    sinkhorn_iteration.add(tile, last * width, z, last, sums)
    return float(simd.total(change)), simd.least_of(least)


@compiled
def _pay(
    tile: Float,
    cost: Float,
    index: ShortInts,
    start: int,
    w: Float,
    z: Float,
    b: Float,
    m: int,
    power: float,
    reached: Float,
) -> tuple[float, float]:
    """<plan, cost> and the marginal error of the plan diag(w) K diag(z).

    Args:
        reached: as long as z, to work in.
    """
    width, n_lanes, n_group = len(w), simd.n_lanes(tile), sinkhorn_iteration.size(tile)
    distance = 0.0
    for j in range(m):
        row, ahead = index[start + j] * width, index[start + min(j + _AHEAD, m - 1)] * width
        place = j // n_group * n_group * width + j % n_group * n_lanes
        masses = payments = simd.spread(tile, tile.dtype.type(0))
        for i in range(0, width, n_lanes):
            simd.prefetch(cost, ahead + i)
            mass = simd.multiply(simd.load(w, i), simd.load(tile, place + i * n_group))
            masses = simd.add(masses, mass)
            payments = simd.multiply_add(mass, simd.load(cost, row + i), payments)
        reached[j] = simd.total(masses)
        distance += z[j] * simd.total(payments)
    reached[m : rounded_up(m, n_lanes)] = 1
    error = simd.spread(tile, tile.dtype.type(0))
    for j in range(0, m, n_lanes):
        sums = simd.load(reached, j)
        off = simd.size(simd.subtract(plain_target(simd.load(b, j), sums, power), simd.load(z, j)))
        error = simd.multiply_add(off, sums, error)
    return distance, float(simd.total(error))
