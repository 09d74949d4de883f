"""Groups of rows in vector registers: the two halves of one Sinkhorn iteration, written out in LLVM's language.

A tile holds the kernel of one document, one row a word. Rows go together by groups, and a group lies in memory in the
order in which it is read: the first register of each of its rows, the second of each, and so on. Both halves then walk
through it from end to end with as many sums in registers as the machine has room for, one half through one group and
the other through another at the same time. (Loops over arrays in Numba keep four sums, and rows that lie one after the
other are eight streams, which the caches fetch half as fast.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from reranker.transport.kernels import simd as registers
from reranker.transport.kernels.simd import INDEX, Lanes, compiled_only

# Rows of a group: its sums and the scalings of another take 16 of the 32 registers of AVX-512, or 12 of the 16 of AVX2,
# where each of ours is two.
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
        reaching = _Reaching(context, builder, lanes, n_rows, tile, w, *arguments)
        sums = registers.loop(builder, reaching.width, lanes.n_lanes, reaching.nothing, reaching.step)
        return _folded(builder, lanes, sums)

    return Lanes(tile.dtype, n_rows)(tile, types.intp, w), generate


@compiled_only
def add(typing: Any, tile: Any, place: Any, z: Any, j: Any, sums: Any) -> Any:
    """Adds z_j K_j of the rows of a group to `sums` (width,).

    Args:
        place: where in the tile the group begins; j: the place in z of its first row.
    """
    lanes, n_rows = Lanes(tile.dtype), _size(tile)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        adding = _Adding(context, builder, lanes, n_rows, tile, z, sums, *arguments)
        registers.loop(builder, adding.width, lanes.n_lanes, [], adding.step)
        return context.get_dummy_value()

    return types.void(tile, types.intp, z, types.intp, sums), generate


@compiled_only
def reached_and_add(typing: Any, tile: Any, place: Any, w: Any, other: Any, z: Any, j: Any, sums: Any) -> Any:
    """`reached` of the group at `place`, and `add` of another at `other`, column by column in turn: the second computes
    while the first waits for the second-level cache."""
    lanes, n_rows = Lanes(tile.dtype), _size(tile)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        reaching = _Reaching(context, builder, lanes, n_rows, tile, w, *arguments[:3])
        adding = _Adding(context, builder, lanes, n_rows, tile, z, sums, arguments[0], *arguments[3:])

        def step(i: Any, carried: Sequence[Any]) -> list[Any]:
            added = reaching.step(i, carried)
            adding.step(i, ())
            return added

        found = registers.loop(builder, reaching.width, lanes.n_lanes, reaching.nothing, step)
        return _folded(builder, lanes, found)

    returned = Lanes(tile.dtype, n_rows)
    return returned(tile, types.intp, w, types.intp, z, types.intp, sums), generate


class _Reaching:
    """Generates the code of one half: of each row a register of sums, from column to column."""

    def __init__(self, context: Any, builder: Any, lanes: Lanes, n_rows: int, tile: Any, w: Any, *values: Any) -> None:
        self._builder, self._lanes, self._n_rows = builder, lanes, n_rows
        self._start = builder.gep(registers.data(context, builder, tile, values[0]), [values[1]])
        self._scaling = registers.data(context, builder, w, values[2])
        self.width = registers.length(context, builder, w, values[2])
        self.nothing = [registers.constant(lanes, 0.0)] * n_rows

    def step(self, i: Any, sums: Sequence[Any]) -> list[Any]:
        builder = self._builder
        x = registers.load_at(builder, self._lanes, builder.gep(self._scaling, [i]))
        rows = _rows(builder, self._lanes, self._start, i, self._n_rows)
        return [registers.times_plus(builder, x, row, total) for row, total in zip(rows, sums, strict=True)]


class _Adding:
    """Generates the code of the other half: of all rows one register of sums at each column."""

    def __init__(
        self, context: Any, builder: Any, lanes: Lanes, n_rows: int, tile: Any, z: Any, sums: Any, *values: Any
    ) -> None:
        self._builder, self._lanes, self._n_rows = builder, lanes, n_rows
        self._start = builder.gep(registers.data(context, builder, tile, values[0]), [values[1]])
        scaling = builder.gep(registers.data(context, builder, z, values[2]), [values[3]])
        self._totals = registers.data(context, builder, sums, values[4])
        self.width = registers.length(context, builder, sums, values[4])
        self._scalings = [
            registers.spread_value(builder, builder.load(builder.gep(scaling, [INDEX(row)])), lanes)
            for row in range(n_rows)
        ]

    def step(self, i: Any, _: Sequence[Any]) -> list[Any]:
        builder, lanes = self._builder, self._lanes
        place = builder.gep(self._totals, [i])
        # Two sums in turn: each waits for the one before it.
        one, other = registers.load_at(builder, lanes, place), ir.Constant(registers.vector(lanes), None)
        for row, scaled in zip(_rows(builder, lanes, self._start, i, self._n_rows), self._scalings, strict=True):
            one, other = other, registers.times_plus(builder, scaled, row, one)
        registers.store_at(builder, lanes, builder.fadd(one, other, flags=registers.FLAGS), place)
        return []


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
