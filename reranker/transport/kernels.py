"""The compiled loops: tables of costs and kernels in, distances out; they allocate, but know no Python object.

All are compiled by Numba on first use and kept on disk, and run without the global interpreter lock. None is
`parallel`: the threading layers of Numba break when several Python threads call them, and after a fork. Threads
are in `threads.py`.

Tables hold one row per distinct document term and one column per query word, filled with empty columns up to a
whole number of vector registers: a document's tile is then a few whole rows, and one sweep over it, row by row,
does both scalings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., object])
Float = NDArray[Any]  # float32 or float64: Numba compiles for each
Ints = NDArray[np.int64]

# Sums may be taken in any order, which vector registers need. Not "nnan" and "ninf": rows out of range must be noticed.
_FASTMATH = {"reassoc", "contract", "nsz"}

# A sum under these has lost digits to denormal numbers: 2^23 (2^52) times the smallest normal float32 (float64).
SMALLEST = {"float32": 1e-31, "float64": 1e-292}


def compiled(function: Function) -> Function:
    """Compiles on first call; keeps the code on disk where some folder can be written."""
    options: dict[str, Any] = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        return cast(Function, numba.njit(function, cache=True, **options))
    except RuntimeError:  # no folder for the cache: a read-only container without a home
        return cast(Function, numba.njit(function, **options))


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
    width = kernel.shape[1]
    tiles = np.empty((longest, width), kernel.dtype)
    w, sums, z = np.empty(width, kernel.dtype), np.empty(width, kernel.dtype), np.empty(longest, kernel.dtype)
    for candidate in range(first, last):
        start, end = offsets[candidate], offsets[candidate + 1]
        if start == end:
            continue
        tile = tiles[: end - start]
        for j in range(end - start):
            tile[j] = kernel[index[start + j]]
        w[:] = 0
        w[: len(a)] = start_w
        good = _scale(tile, w, z, sums, a, b[start:end], power, n_iterations, stop_below, smallest)
        if good:
            values[candidate], errors[candidate] = _pay(tile, cost, index[start:end], w, z, b[start:end], power)
        else:
            values[candidate] = errors[candidate] = np.nan


@compiled
def _scale(
    tile: Float,
    w: Float,
    z: Float,
    sums: Float,
    a: Float,
    b: Float,
    power: float,
    n_iterations: int,
    stop_below: float,
    smallest: float,
) -> bool:
    """Iterates z = b (1 / K'w)^power, w = a / (K z) in place (`reference.scaled_plan`); False when out of range."""
    z[:] = 0
    for iteration in range(n_iterations):
        sums[:] = 0
        change, least = _sweep(tile, w, z, sums, b, power, smallest)
        for i in range(len(a)):
            least = min(least, sums[i])
        if not least > smallest:
            return False
        for i in range(len(a)):
            w[i] = a[i] / sums[i]
        if iteration > 0 and change < stop_below:
            break
    return True


@compiled
def _sweep(
    tile: Float, w: Float, z: Float, sums: Float, b: Float, power: float, smallest: float
) -> tuple[float, float]:
    """One pass over the rows of a tile: z_j = b_j (1 / <K_j, w>)^power, and adds z_j K_j to `sums`.

    Four rows go together: w and `sums` are then read and written once for four rows instead of once for each.

    Returns:
        How far the column sums of the plan moved (L1), and the smallest <K_j, w>.
    """
    zero = tile.dtype.type(0)
    m, width = tile.shape
    change, least = 0.0, np.inf
    floor = tile.dtype.type(smallest)
    whole = m - m % 4
    for j in range(0, whole, 4):
        row0, row1, row2, row3 = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for i in range(width):
            x = w[i]
            s0 += x * row0[i]
            s1 += x * row1[i]
            s2 += x * row2[i]
            s3 += x * row3[i]
        least = min(least, s0, s1, s2, s3)
        change += _rescale(z, b, j, max(s0, floor), power)
        change += _rescale(z, b, j + 1, max(s1, floor), power)
        change += _rescale(z, b, j + 2, max(s2, floor), power)
        change += _rescale(z, b, j + 3, max(s3, floor), power)
        z0, z1, z2, z3 = z[j], z[j + 1], z[j + 2], z[j + 3]
        for i in range(width):
            sums[i] += (z0 * row0[i] + z1 * row1[i]) + (z2 * row2[i] + z3 * row3[i])
    for j in range(whole, m):
        row = tile[j]
        s0 = zero
        for i in range(width):
            s0 += w[i] * row[i]
        least = min(least, s0)
        change += _rescale(z, b, j, max(s0, floor), power)
        z0 = z[j]
        for i in range(width):
            sums[i] += z0 * row[i]
    return change, least


@compiled
def _rescale(z: Float, b: Float, j: int, reached: float, power: float) -> float:
    """Sets z_j; returns how far the sum of column j of the plan moved by it."""
    before = z[j]
    z[j] = b[j] * inverse_power(reached, power)
    return float(abs(z[j] - before) * reached)


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
    for j in range(tile.shape[0]):
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
    n_iterations: int,
    stop_below: float,
    values: Float,
    errors: Float,
) -> None:
    """`scale_many` with the logarithms of w and z (Peyré and Cuturi 2019, 4.4), for any epsilon; float64 only."""
    n = len(log_a)
    for candidate in range(first, last):
        start, end = offsets[candidate], offsets[candidate + 1]
        if start == end:
            continue
        tile = np.empty((end - start, n))
        for j in range(end - start):
            for i in range(n):
                tile[j, i] = -cost[index[start + j], i] / epsilon
        log_w, log_z = log_start.copy(), np.full(end - start, -np.inf)
        for iteration in range(n_iterations):
            change = _rescale_log(tile, log_w, log_z, log_b[start:end], power)
            _scale_rows_log(tile, log_w, log_z, log_a)
            if iteration > 0 and change < stop_below:
                break
        distance = 0.0
        for j in range(end - start):
            for i in range(n):
                distance -= np.exp(tile[j, i] + log_w[i] + log_z[j]) * tile[j, i] * epsilon
        values[candidate] = distance
        errors[candidate] = _rescale_log(tile, log_w, log_z, log_b[start:end], power)


@compiled
def _rescale_log(tile: Float, log_w: Float, log_z: Float, log_b: Float, power: float) -> float:
    """Sets log z_j = log b_j - power log(K'w)_j; returns how far the column sums of the plan moved (L1)."""
    change = 0.0
    for j in range(tile.shape[0]):
        row = tile[j]
        largest = -np.inf
        for i in range(len(log_w)):
            largest = max(largest, row[i] + log_w[i])
        total = 0.0
        for i in range(len(log_w)):
            total += np.exp(row[i] + log_w[i] - largest)
        reached = largest + np.log(total)
        before = log_z[j]
        log_z[j] = log_b[j] - power * reached
        change += abs(np.exp(log_z[j] + reached) - np.exp(before + reached))
    return change


@compiled
def _scale_rows_log(tile: Float, log_w: Float, log_z: Float, log_a: Float) -> None:
    """Sets log w_i = log a_i - log(K z)_i; row by row, so that the tile is read as it lies."""
    n = len(log_a)
    largest, total = np.full(n, -np.inf), np.zeros(n)
    for j in range(tile.shape[0]):
        for i in range(n):
            largest[i] = max(largest[i], tile[j, i] + log_z[j])
    for j in range(tile.shape[0]):
        for i in range(n):
            total[i] += np.exp(tile[j, i] + log_z[j] - largest[i])
    for i in range(n):
        log_w[i] = log_a[i] - largest[i] - np.log(total[i])
