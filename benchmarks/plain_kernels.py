"""The plain forms of the transport's vector code: loops that Numba compiles, or NumPy.

Each replaces a function of `reranker/transport/kernels` with the same arguments (`benchmarks/kernels.py`).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Float = NDArray[Any]

# Like `kernels/compiling.py`, without cached code on disk.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
}
plain = numba.njit(**_OPTIONS)
REGISTER_BYTES = 64


@plain
def fill_rows(tile, cost, scale, index, start, m):  # type: ignore[no-untyped-def]
    """`scaling._fill`, row by row."""
    width, factor = cost.shape[1], tile.dtype.type(scale)
    for j in range(m):
        row = cost[index[start + j]]
        for i in range(width):
            tile[j * width + i] = np.exp(factor * row[i])


@plain
def scale_rows(  # type: ignore[no-untyped-def]
    tile, m, w, z, sums, a, b, empty_columns, power, over_relaxed, n_iterations, stop_below, smallest
):
    """`scaling._scale` of a tile by rows: one loop over the columns for each half of the iteration."""
    width = len(w)
    z[:] = 0
    change = before = np.inf
    exact = True
    for iteration in range(n_iterations):
        middle = 1 < iteration < n_iterations - 1
        further = over_relaxed and middle and stop_below <= change < 0.999 * before
        before, change, least = change, 0.0, np.inf
        sums[:] = empty_columns
        for j in range(m):
            row, reached = tile[j * width : (j + 1) * width], tile.dtype.type(0)
            for i in range(width):
                reached += row[i] * w[i]
            least = min(least, reached)
            target = _target(b[j], reached, power)
            change += abs(target - z[j]) * reached
            z[j] = target * np.sqrt(target / max(z[j], smallest)) if further else target
            for i in range(width):
                sums[i] += row[i] * z[j]
        settled = iteration > 0 and change < stop_below
        last = iteration == n_iterations - 1 or (settled and exact and not further)
        exact = settled or not further
        for i in range(width):
            least = min(least, sums[i])
            target = a[i] / sums[i]
            w[i] = target if exact else target * np.sqrt(target / max(w[i], smallest))
        if not least > smallest:
            return 0
        if last:
            return iteration + 1
    return n_iterations


@plain
def pay_rows(tile, cost, index, start, w, z, b, m, power, reached):  # type: ignore[no-untyped-def]
    """`scaling._pay` of a tile by rows."""
    width, distance, error = len(w), 0.0, 0.0
    for j in range(m):
        row, costs = tile[j * width : (j + 1) * width], cost[index[start + j]]
        masses = payments = tile.dtype.type(0)
        for i in range(width):
            mass = w[i] * row[i]
            masses += mass
            payments += mass * costs[i]
        distance += z[j] * payments
        error += abs(_target(b[j], masses, power) - z[j]) * masses
    return distance, error


@plain
def _target(weight, reached, power):  # type: ignore[no-untyped-def]
    if power == 1.0:
        return weight / reached
    if power == 0.0:
        return weight
    return weight * reached ** (-power)


def fill_groups(group: int) -> Any:
    """`scaling._fill` with the exponential of the C library, in groups of rows."""

    @plain
    def fill(tile, cost, scale, index, start, m):  # type: ignore[no-untyped-def]
        width, factor = cost.shape[1], tile.dtype.type(scale)
        n_lanes = REGISTER_BYTES // tile.itemsize
        n_group = min(group, n_lanes)
        for j in range((m + n_group - 1) // n_group * n_group):
            row = cost[index[start + j if j < m else start]]
            place = j // n_group * n_group * width + j % n_group * n_lanes
            for i in range(0, width, n_lanes):
                for lane in range(n_lanes):
                    tile[place + i * n_group + lane] = np.exp(factor * row[i + lane])

    return fill


def rows_in_registers(simd: Any) -> dict[str, Any]:
    """`scaling._fill`, `_scale` and `_pay` by rows, with the operations of `simd.py`. It shows the gain of groups."""

    @plain
    def fill(tile, cost, scale, index, start, m):  # type: ignore[no-untyped-def]
        width, scales = cost.shape[1], simd.spread(tile, tile.dtype.type(scale))
        for j in range(m):
            row = index[start + j] * width
            for i in range(0, width, simd.n_lanes(tile)):
                simd.store(tile, j * width + i, simd.exponential(simd.multiply(scales, simd.load(cost, row + i))))

    @plain
    def scale(  # type: ignore[no-untyped-def]
        tile, m, w, z, sums, a, b, empty_columns, power, over_relaxed, n_iterations, stop_below, smallest
    ):
        width, step = len(w), simd.n_lanes(tile)
        z[:] = 0
        change = before = np.inf
        exact = True
        for iteration in range(n_iterations):
            middle = 1 < iteration < n_iterations - 1
            further = over_relaxed and middle and stop_below <= change < 0.999 * before
            before, change, least = change, 0.0, np.inf
            sums[:] = empty_columns
            for j in range(m):
                total = simd.spread(tile, tile.dtype.type(0))
                for i in range(0, width, step):
                    total = simd.multiply_add(simd.load(tile, j * width + i), simd.load(w, i), total)
                reached = simd.total(total)
                least = min(least, reached)
                target = _target(b[j], reached, power)
                change += abs(target - z[j]) * reached
                z[j] = target * np.sqrt(target / max(z[j], smallest)) if further else target
                scaled = simd.spread(tile, z[j])
                for i in range(0, width, step):
                    added = simd.multiply_add(scaled, simd.load(tile, j * width + i), simd.load(sums, i))
                    simd.store(sums, i, added)
            settled = iteration > 0 and change < stop_below
            last = iteration == n_iterations - 1 or (settled and exact and not further)
            exact = settled or not further
            for i in range(width):
                least = min(least, sums[i])
                target = a[i] / sums[i]
                w[i] = target if exact else target * np.sqrt(target / max(w[i], smallest))
            if not least > smallest:
                return 0
            if last:
                return iteration + 1
        return n_iterations

    return {"_fill": fill, "_scale": scale, "_pay": pay_rows}


def sweep_forwards(kernels: Any, scaling: Any) -> Any:
    """`scaling._sweep` that reaches a group and then adds the same group, always forwards."""
    simd, groups = kernels["kernels.simd"], kernels["kernels.sinkhorn_iteration"]
    plain_target, further_target = scaling.plain_target, scaling.further_target

    def sweep(tile, m, w, z, sums, b, power, further, smallest, backwards):  # type: ignore[no-untyped-def]
        width, n_group = len(w), groups.size(tile)
        change = groups.spread(tile, tile.dtype.type(0))
        least = groups.spread(tile, tile.dtype.type(np.inf))
        for j in range(0, m, n_group):
            reached = groups.reached(tile, j * width, w)
            least = simd.smaller(reached, least)
            in_range = simd.larger(groups.spread(tile, smallest), reached)
            before, target = groups.load(z, j), plain_target(groups.load(b, j), in_range, power)
            change = simd.multiply_add(simd.size(simd.subtract(target, before)), reached, change)
            simd.store(z, j, further_target(target, before, groups.spread(tile, smallest)) if further else target)
            groups.add(tile, j * width, z, j, sums)
        return float(simd.total(change)), simd.least_of(least)

    return kernels["kernels.compiling"].inlined(sweep)


@plain
def strips(units):  # type: ignore[no-untyped-def]
    """`products.strips`: (dim, width), with the words side by side."""
    return units.T.copy()


@plain
def products(embeddings, term_ids, first, words, factors, room, table):  # type: ignore[no-untyped-def]
    """`products.products`: term by term, dimension by dimension."""
    dim, width = words.shape
    for k in range(first, first + 6):
        x, row = embeddings[term_ids[k]], table[k]
        row[:] = 0
        for d in range(dim):
            value = table.dtype.type(x[d])
            for i in range(width):
                row[i] += value * words[d, i]


def cost_table(query: Any, terms: Any, embeddings: Any, dtype: Any, n_threads: int, ground_cost: str) -> Float:
    """`cost_table.cost_table` in NumPy: copies the rows and calls BLAS once."""
    n = len(query)
    rows, query_rows = (np.take(embeddings, ids, axis=0).astype(dtype, copy=False) for ids in (terms, query.term_ids))
    width = -(-n // 16) * 16
    squared = np.ones((len(terms), width), dtype)
    np.matmul(rows, query_rows.T, out=squared[:, :n])
    squared *= -2
    squared += 2
    near = np.argwhere(squared[:, :n] < 0.01)
    squared[near[:, 0], near[:, 1]] = ((rows[near[:, 0]] - query_rows[near[:, 1]]) ** 2).sum(axis=1)
    np.maximum(squared, 0, out=squared)
    if ground_cost == "euclidean":
        return np.sqrt(squared, out=squared)
    squared *= 0.5
    return squared


@plain
def add_rows(embeddings, row_ids, weights, sums):  # type: ignore[no-untyped-def]
    """`nbow_means._add_rows`, one row at a time."""
    sums[:] = 0
    for word in range(len(row_ids)):
        row, weight = embeddings[row_ids[word]], weights[word]
        for i in range(len(sums)):
            sums[i] += weight * row[i]


@plain
def deduplicate(term_ids, offsets, first, max_terms, n_terms):  # type: ignore[no-untyped-def]
    """`cost_tables.deduplicate` with a number for each term of the vocabulary, if all candidates fit."""
    place = np.zeros(n_terms, np.int32)
    for word in range(len(term_ids)):
        place[term_ids[word]] = 1
    distinct, k = np.empty(len(term_ids), np.int32), 0
    for term in range(n_terms):
        if place[term]:
            distinct[k] = term
            place[term] = k
            k += 1
    index = np.empty(len(term_ids), np.int32)
    for word in range(len(term_ids)):
        index[word] = place[term_ids[word]]
    return len(offsets) - 1, distinct[:k].copy(), index


@plain
def floats(n, like):  # type: ignore[no-untyped-def]
    """`buffers.floats`, without alignment."""
    return np.zeros(n, like.dtype)


@plain
def rescale_log(tile, log_w, log_z, log_b, power, further):  # type: ignore[no-untyped-def]
    """`log_scaling._rescale_log` by loops."""
    change = 0.0
    for j in range(len(log_z)):
        row, largest, total = tile[j], -1e300, 0.0
        for i in range(len(log_w)):
            largest = max(largest, row[i] + log_w[i])
        for i in range(len(log_w)):
            total += np.exp(row[i] + log_w[i] - largest)
        reached = largest + np.log(total)
        before, target = log_z[j], log_b[j] - power * reached
        log_z[j] = target + 0.5 * (target - before) if further else target
        change += abs(np.exp(target + reached) - np.exp(before + reached))
    return change


@plain
def scale_rows_log(tile, log_w, log_z, log_a, further, largest, total):  # type: ignore[no-untyped-def]
    """`log_scaling._scale_rows_log` by loops."""
    largest[:] = -1e300
    total[:] = 0
    for j in range(len(log_z)):
        for i in range(len(log_w)):
            largest[i] = max(largest[i], tile[j, i] + log_z[j])
    for j in range(len(log_z)):
        for i in range(len(log_w)):
            total[i] += np.exp(tile[j, i] + log_z[j] - largest[i])
    for i in range(len(log_a)):
        target = log_a[i] - largest[i] - np.log(total[i])
        log_w[i] = target + 0.5 * (target - log_w[i]) if further else target
