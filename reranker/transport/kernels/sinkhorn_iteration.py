"""Groups of rows in vector registers: the two halves of one Sinkhorn iteration, written out in LLVM's language.

A tile holds the kernel of one document, one row a word. Rows go together by groups, and a group lies in memory in the
order in which it is read: the first register of each of its rows, the second of each, and so on. Both halves walk
through it from end to end with as many sums in registers as the machine has room for. (Loops over arrays in Numba keep
four sums, and rows that lie one after the other are eight streams, which the caches fetch half as fast.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from reranker.transport.kernels import simd as registers
from reranker.transport.kernels.simd import INDEX, Lanes, compiled_only

# Rows of a group: its sums take 8 of the 32 registers of AVX-512, or 8 of the 16 of AVX2, where each of ours is two.
GROUP = 8 if registers.WIDE else 4


def _size(array: Any) -> int:
    n_lanes: int = Lanes(array.dtype).n_lanes
    return min(GROUP, n_lanes)


@compiled_only
def size(typing: Any, array: Any) -> Any:
    """Rows of a group, for an array's type."""
    count = _size(array)
    return types.intp(array), lambda context, *_: context.get_constant(types.intp, count)


@compiled_only
def load(typing: Any, array: Any, index: Any) -> Any:
    """A value for each row of a group, from the flat index of an array on."""
    return registers.loading(Lanes(array.dtype, _size(array)), array)


@compiled_only
def spread(typing: Any, array: Any, value: Any) -> Any:
    """A value for all rows of a group."""
    return registers.spreading(Lanes(array.dtype, _size(array)), array)


@compiled_only
def reached(typing: Any, tile: Any, place: Any, w: Any) -> Any:
    """<K_j, w> of the rows of a group, one lane each.

    Args:
        place: where in the tile the group begins; w: (width,).
    """
    lanes, n_rows = Lanes(tile.dtype), _size(tile)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.gep(registers.data(context, builder, tile, arguments[0]), [arguments[1]])
        scalings = registers.data(context, builder, w, arguments[2])

        def step(i: Any, sums: Sequence[Any]) -> list[Any]:
            x = registers.load_at(builder, lanes, builder.gep(scalings, [i]))
            rows = _rows(builder, lanes, start, i, n_rows)
            return [registers.times_plus(builder, x, row, total) for row, total in zip(rows, sums, strict=True)]

        width = registers.length(context, builder, w, arguments[2])
        nothing = [registers.constant(lanes, 0.0)] * n_rows
        return _folded(builder, lanes, registers.loop(builder, width, lanes.n_lanes, nothing, step))

    return Lanes(tile.dtype, n_rows)(tile, types.intp, w), generate


@compiled_only
def add(typing: Any, tile: Any, place: Any, z: Any, j: Any, sums: Any) -> Any:
    """Adds z_j K_j of the rows of a group to `sums` (width,).

    Args:
        place: where in the tile the group begins; j: the place in z of its first row.
    """
    lanes, n_rows = Lanes(tile.dtype), _size(tile)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.gep(registers.data(context, builder, tile, arguments[0]), [arguments[1]])
        first = builder.gep(registers.data(context, builder, z, arguments[2]), [arguments[3]])
        totals = registers.data(context, builder, sums, arguments[4])
        scalings = [
            registers.spread_value(builder, builder.load(builder.gep(first, [INDEX(row)])), lanes)
            for row in range(n_rows)
        ]

        def step(i: Any, _: Sequence[Any]) -> list[Any]:
            total = builder.gep(totals, [i])
            # Two sums in turn: each waits for the one before it.
            one, other = registers.load_at(builder, lanes, total), ir.Constant(registers.vector(lanes), None)
            for row, scaled in zip(_rows(builder, lanes, start, i, n_rows), scalings, strict=True):
                one, other = other, registers.times_plus(builder, scaled, row, one)
            registers.store_at(builder, lanes, builder.fadd(one, other, flags=registers.FLAGS), total)
            return []

        registers.loop(builder, registers.length(context, builder, sums, arguments[4]), lanes.n_lanes, [], step)
        return context.get_dummy_value()

    return types.void(tile, types.intp, z, types.intp, sums), generate


def _rows(builder: Any, lanes: Lanes, start: Any, i: Any, n_rows: int) -> list[Any]:
    """Registers one after the other in memory: that of column i of each row of a group."""
    place = builder.gep(start, [builder.mul(i, INDEX(n_rows))])
    return [
        registers.load_at(builder, lanes, builder.gep(place, [INDEX(row * lanes.n_lanes)])) for row in range(n_rows)
    ]


def _folded(builder: Any, lanes: Lanes, sums: Sequence[Any]) -> Any:
    """Registers, each a part of one row's sum in every lane, added up to a lane for each row, in their order. Half the
    lanes of two go into one at each level: first within quarters of the register (128 bits), then quarter by quarter,
    in the ways for which machines have instructions of their own."""
    left, level, quarter = list(sums), 0, lanes.n_lanes // 4
    while len(left) > 1:
        pairs = zip(left[::2], left[1::2], strict=True)
        left = [_halved(builder, lanes, x, y, level) for x, y in pairs]
        level += 1
    n_lanes = lanes.n_lanes
    while n_lanes > len(sums):  # every other quarter to the one before it
        n_lanes //= 2
        first = [lane for lane in range(2 * n_lanes) if lane // quarter % 2 == 0]
        parts = (registers.shuffle(builder, left[0], left[0], [lane + off for lane in first]) for off in (0, quarter))
        left = [builder.fadd(*parts, flags=registers.FLAGS)]
    return left[0]


def _halved(builder: Any, lanes: Lanes, x: Any, y: Any, level: int) -> Any:
    quarter, n = lanes.n_lanes // 4, lanes.n_lanes
    within = quarter.bit_length() - 1  # levels within a quarter
    if level < within:
        run = 2**level
        lower = [lane for lane in range(n) if lane % quarter < quarter // 2]
        first = [k + of for lane in lower[::run] for of in (0, n) for k in range(lane, lane + run)]
        second = [lane + quarter // 2 for lane in first]
    else:
        chosen = ((0, 1), (2, 3)) if level == within else ((0, 2), (1, 3))
        first, second = (
            [of + q * quarter + k for of in (0, n) for q in quarters for k in range(quarter)] for quarters in chosen
        )
    parts = (registers.shuffle(builder, x, y, places) for places in (first, second))
    return builder.fadd(*parts, flags=registers.FLAGS)
