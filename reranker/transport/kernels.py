"""The compiled loops: tables of costs and kernels in, distances out; they allocate, but know no Python object.

All are compiled by Numba on first use and kept on disk, and run without the global interpreter lock. None is
`parallel`: the threading layers of Numba break when several Python threads call them, and after a fork. Threads
are in `threads.py`.

Tables hold one row per distinct document term and one column per query word, filled with empty columns up to a
whole number of vector registers: a document's tile is then a few whole rows, and one sweep over it, block of rows by
block of rows, does both scalings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from reranker.transport import lanes
from reranker.transport.lanes import GROUP, REGISTER_BYTES

Function = TypeVar("Function", bound=Callable[..., object])
Float = NDArray[Any]  # float32 or float64: Numba compiles for each
Ints = NDArray[np.int64]

# Sums may be taken in any order, which vector registers need. Not "nnan" and "ninf": rows out of range must be noticed.
_FASTMATH = {"reassoc", "contract", "nsz"}

# Rows of a tile go together by the lanes of a register (16 or 8): divisions and roots are then done for all of them at
# once, and they are still in the first-level cache when they are read again. Vectors over rows are filled up to this.
_BLOCK = 16

# In the place of log 0, which would make NaN of its difference with itself.
_LOG_OF_NOTHING = -1e300

# A sum under these has lost digits to denormal numbers: 2^23 (2^52) times the smallest normal float32 (float64).
SMALLEST = {"float32": 1e-31, "float64": 1e-292}


_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}


def compiled(function: Function) -> Function:
    """Compiles on first call; keeps the code on disk where some folder can be written."""
    try:
        return cast(Function, numba.njit(function, cache=True, **_OPTIONS))
    except RuntimeError:  # no folder for the cache: a read-only container without a home
        return cast(Function, numba.njit(function, **_OPTIONS))


def inlined(function: Function) -> Function:
    """Becomes a part of the compiled function that calls it, and its arrays are not handed on: half the time of the
    iteration at 30 query words."""
    return cast(Function, numba.njit(function, inline="always", **_OPTIONS))


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
def costs_from_products(
    cost: Float,
    n: int,
    query_norms: Float,
    row_norms: Float,
    query_ids: NDArray[np.int32],
    row_ids: NDArray[np.int32],
    query_rows: Float,
    rows: Float,
    close: float,
) -> None:
    """Turns inner products into Euclidean distances in place: sqrt(max(0, ‖x‖² + ‖y‖² - 2 <x, y>)).

    Args:
        cost: (k, width) products of k document terms with n query words, in the first n columns.
        query_norms, row_norms: (width,) and (k,) squared norms.
        query_rows, rows: (n, dim) and (k, dim) embeddings, from which costs under `close` are computed again.
    """
    two, zero, limit = cost.dtype.type(2), cost.dtype.type(0), cost.dtype.type(close * close)
    for j in range(cost.shape[0]):
        row, norm = cost[j], row_norms[j]
        least = norm + two
        for i in range(n):
            squared = max(query_norms[i] + norm - two * row[i], zero)
            row[i] = squared
            least = min(least, squared)
        if least < limit:
            for i in range(n):
                if row[i] < limit:
                    row[i] = _squared_distance(query_rows[i], rows[j]) if query_ids[i] != row_ids[j] else zero
        for i in range(n):
            row[i] = np.sqrt(row[i])


@compiled
def _squared_distance(x: Float, y: Float) -> float:
    """‖x - y‖², summed in float64."""
    total = 0.0
    for k in range(len(x)):
        difference = float(x[k]) - float(y[k])
        total += difference * difference
    return total


@compiled
def relaxed_wmd(
    cost: Float, index: NDArray[np.int32], offsets: Ints, first: int, last: int, a: Float, b: Float, values: Float
) -> None:
    """Writes max(sum_i a_i min_j C_ij, sum_j b_j min_i C_ij) of candidates `first` to `last` (Kusner 2015, 4)."""
    n = len(a)
    nearest = np.empty(n, cost.dtype)
    for candidate in range(first, last):
        start, end = offsets[candidate], offsets[candidate + 1]
        if start == end:
            continue
        nearest[:] = np.inf
        to_document = 0.0
        for word in range(start, end):
            row = cost[index[word]]
            least = row[0]
            for i in range(n):
                least = min(least, row[i])
                nearest[i] = min(nearest[i], row[i])
            to_document += b[word] * least
        from_query = 0.0
        for i in range(n):
            from_query += a[i] * nearest[i]
        values[candidate] = max(from_query, to_document)


@compiled
def scale_many(
    kernel: Float,
    cost: Float,
    index: NDArray[np.int32],
    offsets: Ints,
    first: int,
    last: int,
    a: Float,
    b: Float,
    start_w: Float,
    power: float,
    over_relaxed: bool,
    n_iterations: int,
    stop_below: float,
    smallest: float,
    values: Float,
    errors: Float,
) -> None:
    """Writes the distances and marginal errors of candidates `first` to `last`; NaN where the range did not suffice.

    Args:
        kernel, cost: (k, width) tables of exp(-cost / epsilon), 0 beyond column n, and of the cost.
        index: (n_words,) rows of the tables; b: (n_words,) weights, of the tables' type like a (n,) and start_w (n,).
        smallest: a sum under it has lost digits.
    """
    longest = 0
    for candidate in range(first, last):
        longest = max(longest, offsets[candidate + 1] - offsets[candidate])
    longest, width = _rounded_up(longest, _BLOCK), kernel.shape[1]
    tile = _floats(longest * width, kernel).reshape((longest, width))
    w, sums, z, weights = _floats(width, tile), _floats(width, tile), _floats(longest, tile), _floats(longest, tile)
    wanted, empty_columns = _floats(width, tile), _floats(width, tile)
    wanted[: len(a)] = a
    empty_columns[len(a) :] = 1
    for candidate in range(first, last):
        start, end = offsets[candidate], offsets[candidate + 1]
        if start == end:
            continue
        m = end - start
        for j in range(m):
            tile[j] = kernel[index[start + j]]
        for j in range(m, _rounded_up(m, GROUP)):  # words of no weight fill the last group
            tile[j] = tile[0]
        weights[:m] = b[start:end]
        weights[m:] = 0
        w[: len(a)] = start_w
        good = _scale(
            tile, m, w, z, sums, wanted, weights, empty_columns, power, over_relaxed, n_iterations, stop_below,
            kernel.dtype.type(smallest),
        )  # fmt: skip
        if good:
            values[candidate], errors[candidate] = _pay(tile, cost, index[start:end], w, z, b[start:end], power)
        else:
            values[candidate] = errors[candidate] = np.nan


@compiled
def _rounded_up(m: int, step: int) -> int:
    return (m + step - 1) // step * step


@compiled
def _floats(n: int, like: Float) -> Float:
    """n zeros that begin with a cache line: a register that lies across two takes twice as long to load."""
    itemsize = like.itemsize
    room = np.zeros(n + REGISTER_BYTES // itemsize, like.dtype)
    skipped = (-room.ctypes.data % REGISTER_BYTES) // itemsize
    return room[skipped : skipped + n]


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
) -> bool:
    """Iterates z = b (1 / K'w)^power, w = a / (K z) in place (`reference.scaled_plan`).

    Args:
        tile: (at least m, width); its rows are filled up to whole groups of four with any row of the kernel.
        z, b: m values, filled up to whole blocks; b with zeros.
        w, sums, a, empty_columns: (width,); in the columns beyond the query's words w and a are 0, and
            `empty_columns`, which is 0 elsewhere, is 1.

    Returns:
        False where a sum has lost digits. What left the range altogether is NaN in all of w and z.
    """
    buffer, step = _floats(_BLOCK, tile), lanes.n_lanes(tile)
    z[:] = 0
    change = before = np.inf
    exact = True  # whether the rows of the plan sum to a, so that a change is its marginal error
    for iteration in range(n_iterations):
        middle = 1 < iteration < n_iterations - 1
        further = over_relaxed and middle and stop_below <= change < before  # `reference.over_relaxes`
        before = change
        for i in range(0, len(w), step):
            lanes.store(sums, i, lanes.load(empty_columns, i))
        change, low = _sweep(tile, m, w, z, sums, b, buffer, power, further, smallest)
        least = lanes.spread(tile, low)
        settled = iteration > 0 and change < stop_below
        last = iteration == n_iterations - 1 or (settled and exact and not further)
        exact = settled or not further
        for i in range(0, len(w), step):
            total = lanes.load(sums, i)
            least = lanes.smaller(total, least)
            target = lanes.divide(lanes.load(a, i), total)
            if not exact:
                target = _further(target, lanes.load(w, i), smallest, tile)
            lanes.store(w, i, target)
        if not lanes.least_of(least) > smallest:
            return False
        if last:
            break
    return True


@inlined
def _further(target: Any, before: Any, smallest: float, like: Float) -> Any:
    """target^1.5 / before^0.5: half a step more in logarithms (Thibault et al. 2021)."""
    ratio = lanes.divide(target, lanes.larger(lanes.spread(like, smallest), before))
    return lanes.multiply(target, lanes.root(ratio))


@inlined
def _sweep(
    tile: Float,
    m: int,
    w: Float,
    z: Float,
    sums: Float,
    b: Float,
    buffer: Float,
    power: float,
    further: bool,
    smallest: float,
) -> tuple[float, float]:
    """One pass over the rows of a tile: z_j = b_j (1 / <K_j, w>)^power, and adds z_j K_j to `sums`.

    Returns:
        How far the column sums of the plan were from where they should be (L1), and the smallest <K_j, w>.
    """
    width, n_lanes = tile.shape[1], lanes.n_lanes(tile)
    change = lanes.spread(tile, tile.dtype.type(0))
    least = lanes.spread(tile, tile.dtype.type(np.inf))
    for start in range(0, m, n_lanes):
        size, row = min(n_lanes, m - start), start * width
        q0 = _reach(tile, row, w)
        q1 = q2 = q3 = lanes.spread(tile, tile.dtype.type(1))  # in the place of rows that are not there
        if size > GROUP:
            q1 = _reach(tile, row + GROUP * width, w)
        if size > 2 * GROUP:
            q2 = _reach(tile, row + 2 * GROUP * width, w)
        if size > 3 * GROUP:
            q3 = _reach(tile, row + 3 * GROUP * width, w)
        reached = lanes.totals(q0, q1, q2, q3)
        least = lanes.smaller(reached, least)
        # In this order a NaN stays a NaN.
        in_range = lanes.larger(lanes.spread(tile, smallest), reached)
        before, plain = lanes.load(z, start), _plain(b, start, in_range, power, buffer)
        change = lanes.multiply_add(lanes.size(lanes.subtract(plain, before)), reached, change)
        lanes.store(z, start, _further(plain, before, smallest, tile) if further else plain)
        whole = size - size % (2 * GROUP)
        for j in range(0, whole, 2 * GROUP):
            _add_eight_rows(tile, (start + j) * width, z, start + j, sums)
        for j in range(whole, size, GROUP):
            _add_rows(tile, (start + j) * width, z, start + j, sums)
    return float(lanes.total(change)), lanes.least_of(least)


@inlined
def _plain(b: Float, place: int, total: Any, power: float, buffer: Float) -> Any:
    """b (1 / total)^power; without a call of pow for `sinkhorn` (1), and for `relaxed` at tau = epsilon (1/2)."""
    weights = lanes.load(b, place)
    if power == 1.0:
        return lanes.divide(weights, total)
    if power == 0.5:
        return lanes.divide(weights, lanes.root(total))
    lanes.store(buffer, 0, total)
    for k in range(lanes.n_lanes(b)):
        buffer[k] = inverse_power(buffer[k], power)
    return lanes.multiply(weights, lanes.load(buffer, 0))


@inlined
def _reach(tile: Float, row0: int, w: Float) -> Any:
    """<K_j, w> of four rows, of which the first begins at `row0`, each still in a quarter of the register."""
    width = len(w)
    row1, row2, row3 = row0 + width, row0 + 2 * width, row0 + 3 * width
    s0 = lanes.spread(tile, tile.dtype.type(0))
    s1, s2, s3 = s0, s0, s0
    for i in range(0, width, lanes.n_lanes(tile)):
        x = lanes.load(w, i)
        s0 = lanes.multiply_add(x, lanes.load(tile, row0 + i), s0)
        s1 = lanes.multiply_add(x, lanes.load(tile, row1 + i), s1)
        s2 = lanes.multiply_add(x, lanes.load(tile, row2 + i), s2)
        s3 = lanes.multiply_add(x, lanes.load(tile, row3 + i), s3)
    return lanes.summed(s0, s1, s2, s3)


@inlined
def _add_rows(tile: Float, row0: int, z: Float, j: int, sums: Float) -> None:
    """Adds z_j K_j of four rows, of which the first begins at `row0`, to `sums`."""
    width = len(sums)
    row1, row2, row3 = row0 + width, row0 + 2 * width, row0 + 3 * width
    z0, z1 = lanes.spread(tile, z[j]), lanes.spread(tile, z[j + 1])
    z2, z3 = lanes.spread(tile, z[j + 2]), lanes.spread(tile, z[j + 3])
    for i in range(0, width, lanes.n_lanes(tile)):
        one = lanes.multiply_add(z0, lanes.load(tile, row0 + i), lanes.load(sums, i))
        other = lanes.multiply(z2, lanes.load(tile, row2 + i))
        one = lanes.multiply_add(z1, lanes.load(tile, row1 + i), one)
        other = lanes.multiply_add(z3, lanes.load(tile, row3 + i), other)
        lanes.store(sums, i, lanes.add(one, other))


@inlined
def _add_eight_rows(tile: Float, row0: int, z: Float, j: int, sums: Float) -> None:
    """`_add_rows` of eight rows: each sum waits for the one before it, here half as often."""
    width = len(sums)
    row1, row2, row3, row4 = row0 + width, row0 + 2 * width, row0 + 3 * width, row0 + 4 * width
    row5, row6, row7 = row4 + width, row4 + 2 * width, row4 + 3 * width
    z0, z1 = lanes.spread(tile, z[j]), lanes.spread(tile, z[j + 1])
    z2, z3 = lanes.spread(tile, z[j + 2]), lanes.spread(tile, z[j + 3])
    z4, z5 = lanes.spread(tile, z[j + 4]), lanes.spread(tile, z[j + 5])
    z6, z7 = lanes.spread(tile, z[j + 6]), lanes.spread(tile, z[j + 7])
    for i in range(0, width, lanes.n_lanes(tile)):
        one = lanes.multiply(z0, lanes.load(tile, row0 + i))
        other = lanes.multiply(z1, lanes.load(tile, row1 + i))
        one = lanes.multiply_add(z2, lanes.load(tile, row2 + i), one)
        other = lanes.multiply_add(z3, lanes.load(tile, row3 + i), other)
        one = lanes.multiply_add(z4, lanes.load(tile, row4 + i), one)
        other = lanes.multiply_add(z5, lanes.load(tile, row5 + i), other)
        one = lanes.multiply_add(z6, lanes.load(tile, row6 + i), one)
        other = lanes.multiply_add(z7, lanes.load(tile, row7 + i), other)
        lanes.store(sums, i, lanes.add(lanes.load(sums, i), lanes.add(one, other)))


@compiled
def inverse_power(x: float, power: float) -> float:
    """x^-power, without a call of pow for `sinkhorn` (1), and for `relaxed` at tau = epsilon (1/2) and at tau = 0."""
    if power == 1.0:
        return 1 / x
    if power == 0.5:
        return 1 / math.sqrt(x)
    if power == 0.0:
        return 1.0
    return math.pow(x, -power)


@compiled
def _pay(
    tile: Float, cost: Float, index: NDArray[np.int32], w: Float, z: Float, b: Float, power: float
) -> tuple[float, float]:
    """<plan, cost> and the marginal error of the plan diag(w) K diag(z)."""
    zero = tile.dtype.type(0)
    distance, error = 0.0, 0.0
    for j in range(len(b)):
        row, prices = tile[j], cost[index[j]]
        reached, paid = zero, zero
        for i in range(tile.shape[1]):
            mass = w[i] * row[i]
            reached += mass
            paid += mass * prices[i]
        distance += z[j] * paid
        error += abs(b[j] * inverse_power(reached, power) - z[j]) * reached
    return distance, error


@compiled
def scale_many_log(
    cost: Float,
    index: NDArray[np.int32],
    offsets: Ints,
    first: int,
    last: int,
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
) -> None:
    """`scale_many` with the logarithms of w and z (Peyré and Cuturi 2019, 4.4), for any epsilon; float64 only."""
    n, width = len(log_a), cost.shape[1]
    largest, total = np.empty(width), np.empty(width)
    for candidate in range(first, last):
        start, end = offsets[candidate], offsets[candidate + 1]
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
            further = over_relaxed and middle and stop_below <= change < before  # `reference.over_relaxes`
            before = change
            change = _rescale_log(tile, log_w, log_z, log_b[start:end], power, further)
            settled = iteration > 0 and change < stop_below
            at_end = iteration == n_iterations - 1 or (settled and exact and not further)
            exact = settled or not further
            _scale_rows_log(tile, log_w, log_z, log_a, not exact, largest, total)
            if at_end:
                break
        distance = 0.0
        for j in range(end - start):
            for i in range(n):
                distance -= np.exp(tile[j, i] + log_w[i] + log_z[j]) * tile[j, i] * epsilon
        values[candidate] = distance
        errors[candidate] = _rescale_log(tile, log_w, log_z, log_b[start:end], power, False)


@compiled
def _rescale_log(tile: Float, log_w: Float, log_z: Float, log_b: Float, power: float, further: bool) -> float:
    """Sets log z_j = log b_j - power log(K'w)_j; returns how far the column sums were from it (L1)."""
    m, width = tile.shape
    step, change = lanes.n_lanes(tile), 0.0
    for j in range(m):
        row, most = j * width, lanes.spread(tile, _LOG_OF_NOTHING)
        for i in range(0, width, step):
            most = lanes.larger(lanes.add(lanes.load(tile, row + i), lanes.load(log_w, i)), most)
        largest = lanes.largest_of(most)
        most, total = lanes.spread(tile, largest), lanes.spread(tile, 0.0)
        for i in range(0, width, step):
            term = lanes.add(lanes.load(tile, row + i), lanes.load(log_w, i))
            total = lanes.add(total, lanes.exponential(lanes.subtract(term, most)))
        reached = largest + np.log(lanes.total(total))
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
    step = lanes.n_lanes(tile)
    largest[:] = _LOG_OF_NOTHING
    total[:] = 0
    for j in range(m):
        row, z = j * width, lanes.spread(tile, log_z[j])
        for i in range(0, width, step):
            term = lanes.add(lanes.load(tile, row + i), z)
            lanes.store(largest, i, lanes.larger(term, lanes.load(largest, i)))
    for j in range(m):
        row, z = j * width, lanes.spread(tile, log_z[j])
        for i in range(0, width, step):
            above = lanes.subtract(lanes.add(lanes.load(tile, row + i), z), lanes.load(largest, i))
            lanes.store(total, i, lanes.add(lanes.load(total, i), lanes.exponential(above)))
    for i in range(len(log_a)):
        plain = log_a[i] - largest[i] - np.log(total[i])
        log_w[i] = plain + 0.5 * (plain - log_w[i]) if further else plain
