"""Inner products of term embeddings with query words, in vector registers: a matrix product that gathers its rows.

A library's matrix product wants the rows of the terms copied together and copies them once more into an order of its
own. Here they are read where they lie in the vocabulary, while the next ones are fetched, and the query's words are
laid out once: four times as fast for 30 words, twice for 300.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numpy.typing import NDArray

from reranker.transport import lanes as registers
from reranker.transport.lanes import INDEX, REGISTER_BYTES, Lanes, compiled_only

# Terms of which products are computed together, and the most registers of query words: 24 sums in the 32 registers of
# AVX-512, or 12 in the 16 of AVX2. More terms would leave no room for the addresses of their rows.
N_TERMS = 6
_STRIPS = (4, 3, 2, 1) if registers.WIDE else (1,)


def panel(query_rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """The query's embeddings (width, dim) as `products` reads them: strips of up to four registers of words, the
    widest first, and in each strip the words' first dimension, their second, and so on; flat."""
    n_lanes = REGISTER_BYTES // query_rows.itemsize
    parts, column = [], 0
    for n_registers in _STRIPS:
        while column + n_registers * n_lanes <= len(query_rows):
            parts.append(query_rows[column : column + n_registers * n_lanes].T.ravel())
            column += n_registers * n_lanes
    return np.concatenate(parts)


@compiled_only
def products(typing: Any, embeddings: Any, term_ids: Any, first: Any, words: Any, table: Any) -> Any:
    """Writes the inner products of `N_TERMS` terms' embeddings with all query words' into rows of a table.

    Args:
        embeddings: (n_terms, dim) float32, or of the table's type; read where they lie.
        term_ids: of which those from `first` on are taken; the cache lines of the `N_TERMS` after them are fetched
            meanwhile, so they must be there too.
        words: the query words' embeddings, as `panel` lays them.
        table: (k, width), written from row `first` on.
    """
    lanes = Lanes(table.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, ids, panel, out = (
            registers.data(context, builder, array, value)
            for array, value in zip(
                (embeddings, term_ids, words, table), (arguments[0], arguments[1], *arguments[3:]), strict=True
            )
        )
        dim = _columns(context, builder, embeddings, arguments[0])
        width = _columns(context, builder, table, arguments[4])
        places = []
        for k in range(2 * N_TERMS):
            term = builder.load(builder.gep(ids, [builder.add(arguments[2], INDEX(k))]))
            places.append(builder.gep(base, [builder.mul(builder.sext(term, INDEX), dim)]))
        own, following = places[:N_TERMS], places[N_TERMS:]
        rows = [builder.gep(out, [builder.mul(builder.add(arguments[2], INDEX(k)), width)]) for k in range(N_TERMS)]

        def strip(column: Any, n_registers: int) -> None:
            sums = _products_of_strip(
                builder, lanes, own, following, builder.gep(panel, [builder.mul(column, dim)]), n_registers, dim
            )
            for k, row in enumerate(rows):
                for v in range(n_registers):
                    place = builder.gep(row, [builder.add(column, INDEX(v * lanes.n_lanes))])
                    registers.store_at(builder, lanes, sums[k * n_registers + v], place)

        _by_strips(builder, width, lanes.n_lanes, strip)
        return context.get_dummy_value()

    return types.void(embeddings, term_ids, types.intp, words, table), generate


def _products_of_strip(
    builder: Any,
    lanes: Lanes,
    own: Sequence[Any],
    following: Sequence[Any],
    words: Any,
    n_registers: int,
    dim: Any,
) -> list[Any]:
    """Sums over the dimensions, `n_registers` for each term; a cache line of dimensions at a time, so that the lines
    of the following terms are asked for evenly."""

    def line(start: Any, sums: Sequence[Any]) -> list[Any]:
        for place in following:
            registers.prefetch_at(builder, builder.gep(place, [start]))
        left = builder.sub(dim, start)
        n_dims = builder.select(builder.icmp_signed("<", left, INDEX(lanes.n_lanes)), left, INDEX(lanes.n_lanes))

        def dimension(k: Any, sums: Sequence[Any]) -> list[Any]:
            d = builder.add(start, k)
            at = builder.gep(words, [builder.mul(d, INDEX(n_registers * lanes.n_lanes))])
            loaded = [
                registers.load_at(builder, lanes, builder.gep(at, [INDEX(v * lanes.n_lanes)]))
                for v in range(n_registers)
            ]
            added = []
            for t, place in enumerate(own):
                value = builder.load(builder.gep(place, [d]))
                if value.type != registers.scalar(lanes):
                    value = builder.fpext(value, registers.scalar(lanes))
                x = registers.spread_value(builder, value, lanes)
                for v, y in enumerate(loaded):
                    added.append(registers.times_plus(builder, x, y, sums[t * n_registers + v]))
            return added

        return registers.loop(builder, n_dims, 1, sums, dimension)

    zeros = ir.Constant(registers.vector(lanes), [0.0] * lanes.n_lanes)
    return registers.loop(builder, dim, lanes.n_lanes, [zeros] * (len(own) * n_registers), line)


def _by_strips(builder: Any, width: Any, step: int, strip: Callable[[Any, int], None]) -> None:
    """`strip(column, n_registers)` from column to column, the widest strips first."""
    column = INDEX(0)
    for n_registers in _STRIPS:
        before = builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("strips", "strip", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        place = builder.phi(INDEX)
        place.add_incoming(column, before)
        end = builder.add(place, INDEX(n_registers * step))
        builder.cbranch(builder.icmp_signed("<=", end, width), inside, after)
        builder.position_at_end(inside)
        strip(place, n_registers)
        place.add_incoming(end, builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        column = place


def _columns(context: Any, builder: Any, array: Any, value: Any) -> Any:
    return builder.extract_value(registers.proxy(context, builder, array, value).shape, 1)
