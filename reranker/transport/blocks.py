"""Blocks of rows in vector registers: the two halves of one Sinkhorn iteration, written out in LLVM's language.

A tile holds the kernel of one document, one row a word. Rows go together by groups, and a group lies in memory in the
order in which it is read: the first register of each of its rows, the second of each, and so on. Both halves then walk
through it from end to end with as many sums in registers as the machine has room for. (Loops over arrays in Numba
keep four, and rows that lie one after the other are eight or sixteen streams, which the caches fetch half as fast.)
A block is as many rows as a register has lanes: one group or several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from reranker.transport import lanes as registers
from reranker.transport.lanes import INDEX, Lanes, compiled_only

# Rows of a group: their sums take 16 of the 32 registers of AVX-512, or 8 of the 16 of AVX2, two for each of ours.
GROUP = 16 if registers.WIDE else 4


def _group(array: Any) -> int:
    n_lanes: int = Lanes(array.dtype).n_lanes
    return min(GROUP, n_lanes)


@compiled_only
def group(typing: Any, array: Any) -> Any:
    """Rows of a group, for an array's type: a block at most."""
    count = _group(array)
    return types.intp(array), lambda context, *_: context.get_constant(types.intp, count)


@compiled_only
def reached(typing: Any, tile: Any, place: Any, w: Any, n_rows: Any) -> Any:
    """<K_j, w> of the rows of a block, one lane each; 1 for groups that begin at row `n_rows` of the block or after.

    Args:
        place: where in the tile the block begins; w: (width,).
    """
    lanes, size = Lanes(tile.dtype), _group(tile)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, n = registers.vector(lanes), lanes.n_lanes
        block = builder.gep(registers.data(context, builder, tile, arguments[0]), [arguments[1]])
        scaling, width = (of(context, builder, w, arguments[2]) for of in (registers.data, registers.length))
        zeros = ir.Constant(vector, [0.0] * n)

        def of_group(first_row: int) -> Any:
            start = builder.gep(block, [builder.mul(width, INDEX(first_row))])

            def step(i: Any, sums: Sequence[Any]) -> list[Any]:
                x = registers.load_at(builder, lanes, builder.gep(scaling, [i]))
                rows = _rows(builder, lanes, builder.gep(start, [builder.mul(i, INDEX(size))]), size)
                return [registers.times_plus(builder, x, row, total) for row, total in zip(rows, sums, strict=True)]

            return _folded(builder, lanes, registers.loop(builder, width, n, [zeros] * size, step))

        sums = [of_group(0)]
        for first_row in range(size, n, size):
            sums.append(
                _only_if(
                    builder,
                    builder.icmp_signed(">", arguments[3], INDEX(first_row)),
                    lambda first_row=first_row: of_group(first_row),  # type: ignore[misc]
                    ir.Constant(vector, [1.0] * n),
                )
            )
        return _folded(builder, lanes, sums, size.bit_length() - 1)

    return lanes(tile, types.intp, w, types.intp), generate


@compiled_only
def add_group(typing: Any, tile: Any, place: Any, z: Any, j: Any, sums: Any) -> Any:
    """Adds z_j K_j of the rows of a group to `sums` (width,).

    Args:
        place: where in the tile the group begins; j: the place in z of its first row.
    """
    lanes, size = Lanes(tile.dtype), _group(tile)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.gep(registers.data(context, builder, tile, arguments[0]), [arguments[1]])
        scaling = builder.gep(registers.data(context, builder, z, arguments[2]), [arguments[3]])
        totals, width = (of(context, builder, sums, arguments[4]) for of in (registers.data, registers.length))
        scalings = [
            registers.spread_value(builder, builder.load(builder.gep(scaling, [INDEX(row)])), lanes)
            for row in range(size)
        ]

        def step(i: Any, _: Sequence[Any]) -> list[Any]:
            rows = _rows(builder, lanes, builder.gep(start, [builder.mul(i, INDEX(size))]), size)
            place = builder.gep(totals, [i])
            # Two sums in turn: each waits for the one before it.
            one, other = registers.load_at(builder, lanes, place), ir.Constant(registers.vector(lanes), None)
            for row, scaled in zip(rows, scalings, strict=True):
                one, other = other, registers.times_plus(builder, scaled, row, one)
            registers.store_at(builder, lanes, builder.fadd(one, other, flags=registers.FLAGS), place)
            return []

        registers.loop(builder, width, lanes.n_lanes, [], step)
        return context.get_dummy_value()

    return types.void(tile, types.intp, z, types.intp, sums), generate


def _only_if(builder: Any, condition: Any, compute: Callable[[], Any], otherwise: Any) -> Any:
    """What `compute` gives where the condition holds, and a constant where it does not."""
    before = builder.block
    inside, after = builder.append_basic_block("if"), builder.append_basic_block("after")
    builder.cbranch(condition, inside, after)
    builder.position_at_end(inside)
    computed, end = compute(), builder.block
    builder.branch(after)
    builder.position_at_end(after)
    value = builder.phi(computed.type)
    value.add_incoming(otherwise, before)
    value.add_incoming(computed, end)
    return value


def _rows(builder: Any, lanes: Lanes, place: Any, n_rows: int) -> list[Any]:
    """Registers one after the other in memory: one of each row of a group."""
    return [
        registers.load_at(builder, lanes, builder.gep(place, [INDEX(row * lanes.n_lanes)])) for row in range(n_rows)
    ]


def _folded(builder: Any, lanes: Lanes, sums: Sequence[Any], level: int = 0) -> Any:
    """Registers, each a part of one row's sum in every lane, added up to one register with the sums of all rows in
    their order. Half the lanes of two go into one at each level: first within quarters of the register (128 bits), then
    quarter by quarter, in the ways for which machines have instructions of their own."""
    registers_left = list(sums)
    while len(registers_left) > 1:
        pairs = zip(registers_left[::2], registers_left[1::2], strict=True)
        registers_left = [_halved(builder, lanes, x, y, level) for x, y in pairs]
        level += 1
    return registers_left[0]


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
