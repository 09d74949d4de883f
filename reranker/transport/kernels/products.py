"""Inner products of term embeddings with query words, in vector registers: a matrix product that gathers its rows.

A library's matrix product wants the rows of the terms copied together and copies them once more into an order of its
own. Here they are read where they lie in the vocabulary, while the next ones are fetched, and the query's words are
laid out once: four times as fast for 30 words, twice for 300. Long queries are multiplied in fixed point where the
machine is faster at it (`fixed_point`), which halves the time again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from reranker.transport.kernels import fixed_point
from reranker.transport.kernels import simd as registers
from reranker.transport.kernels.compiling import compiled
from reranker.transport.kernels.simd import INDEX, REGISTER_BYTES, Lanes, compiled_only

# Terms of which products are computed together, and the most registers of query words: 24 sums in the 32 registers of
# AVX-512, or 12 in the 16 of AVX2. More terms would leave no room for the addresses of their rows.
N_TERMS = 6
_STRIPS = (4, 3, 2, 1) if registers.WIDE else (1,)
# Dimensions, in float32, of a cache line.
_LINE = 16


def panel(query_rows: NDArray[np.floating], n_words: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """The query's embeddings as `products` reads them, flat: strips of up to four registers of words, the widest
    first, and in each strip the words' first dimension, their second, and so on.

    Args:
        query_rows: (width, dim), of the table's type; rows from `n_words` on are filling.

    Returns:
        The same type, or int16 where the products are computed in fixed point: then two dimensions go together; and
        (width,) by what the products are to be multiplied then, otherwise empty.
    """
    if query_rows.dtype == np.float32 and fixed_point.serves(n_words, query_rows.shape[1]):
        rows, factors = fixed_point.rounded(query_rows)
        return strips(rows.view(np.int32)).view(np.int16), factors  # two values of 16 bits stay together
    return strips(query_rows), np.empty(0, np.float32)


@compiled
def strips(units: NDArray[Any]) -> NDArray[Any]:
    """What `panel` lays of words (width, dim), whatever their type: products in float32 however many there are."""
    n_words, dim = units.shape
    laid, column, n_lanes = np.empty(units.size, units.dtype), 0, REGISTER_BYTES // units.itemsize
    for n_registers in _STRIPS:
        strip = n_registers * n_lanes
        while column + strip <= n_words:
            for d in range(dim):
                for word in range(strip):
                    laid[column * dim + d * strip + word] = units[column + word, d]
            column += strip
    return laid


@compiled_only
def products(
    typing: Any, embeddings: Any, term_ids: Any, first: Any, words: Any, factors: Any, room: Any, table: Any
) -> Any:
    """Writes the inner products of `N_TERMS` terms' embeddings with all query words' into rows of a table.

    Args:
        embeddings: (n_terms, dim) float32, or of the table's type; read where they lie.
        term_ids: of which those from `first` on are taken; the cache lines of the `N_TERMS` after them are fetched
            meanwhile, so they must be there too.
        words, factors: the query words' embeddings, as `panel` lays them.
        room: zeros, (N_TERMS, dim) int16, dim rounded up to `fixed_point.DIMS_TOGETHER`: to work in.
        table: (k, width), written from row `first` on. Of a term whose embedding is not finite (in fixed point: or far
            from norm 1) a whole row is NaN or infinite.
    """
    lanes = Lanes(table.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, ids, panel, of_words, worked, out = (
            registers.data(context, builder, array, value)
            for array, value in zip(
                (embeddings, term_ids, words, factors, room, table),
                (arguments[0], arguments[1], *arguments[3:]),
                strict=True,
            )
        )
        dim = _columns(context, builder, embeddings, arguments[0])
        width = _columns(context, builder, table, arguments[6])
        places = []
        for k in range(2 * N_TERMS):
            term = builder.load(builder.gep(ids, [builder.add(arguments[2], INDEX(k))]))
            places.append(builder.gep(base, [builder.mul(builder.sext(term, INDEX), dim)]))
        own, following = places[:N_TERMS], places[N_TERMS:]
        rows = [builder.gep(out, [builder.mul(builder.add(arguments[2], INDEX(k)), width)]) for k in range(N_TERMS)]
        arithmetic: _Floats | fixed_point.FixedPoint = (
            fixed_point.FixedPoint(builder, own, dim, panel, of_words, worked)
            if words.dtype == types.int16
            else _Floats(builder, lanes, own, panel)
        )

        def strip(column: Any, n_registers: int) -> None:
            sums = _products_of_strip(builder, arithmetic, following, column, n_registers, dim)
            for k, row in enumerate(rows):
                for v in range(n_registers):
                    at = builder.add(column, INDEX(v * lanes.n_lanes))
                    found = arithmetic.product(sums[k * n_registers + v], k, at)
                    registers.store_at(builder, lanes, found, builder.gep(row, [at]))

        _by_strips(builder, width, lanes.n_lanes, strip)
        return context.get_dummy_value()

    return types.void(embeddings, term_ids, types.intp, words, factors, room, table), generate


class _Floats:
    """Products in the type of the table, a dimension at a time."""

    dims_together = 1

    def __init__(self, builder: Any, lanes: Lanes, rows: Sequence[Any], panel: Any) -> None:
        self._builder, self._lanes, self._rows, self._panel = builder, lanes, rows, panel
        self.nothing = registers.constant(lanes, 0.0)

    def words_of_strip(self, column: Any, dim: Any) -> Any:
        """Where the strip that begins at a column lies in the panel."""
        return self._builder.gep(self._panel, [self._builder.mul(column, dim)])

    def words(self, strip: Any, d: Any, n_registers: int) -> list[Any]:
        """The registers of the strip's words at a dimension."""
        n_lanes = self._lanes.n_lanes
        at = self._builder.gep(strip, [self._builder.mul(d, INDEX(n_registers * n_lanes))])
        return [
            registers.load_at(self._builder, self._lanes, self._builder.gep(at, [INDEX(v * n_lanes)]))
            for v in range(n_registers)
        ]

    def term(self, k: int, d: Any) -> Any:
        """A term's value at a dimension, in every lane."""
        value = self._builder.load(self._builder.gep(self._rows[k], [d]))
        if value.type != registers.scalar(self._lanes):
            value = self._builder.fpext(value, registers.scalar(self._lanes))
        return registers.spread_value(self._builder, value, self._lanes)

    def added(self, x: Any, y: Any, total: Any) -> Any:
        return registers.times_plus(self._builder, x, y, total)

    def product(self, total: Any, k: int, column: Any) -> Any:
        """What the sums over all dimensions of a term and the words from a column on are, as floats."""
        return total


def _products_of_strip(
    builder: Any,
    arithmetic: _Floats | fixed_point.FixedPoint,
    following: Sequence[Any],
    column: Any,
    n_registers: int,
    dim: Any,
) -> list[Any]:
    """Sums over the dimensions, `n_registers` for each term; a cache line of dimensions at a time, so that the lines
    of the following terms are asked for evenly."""
    strip = arithmetic.words_of_strip(column, dim)
    step = arithmetic.dims_together

    def line(start: Any, sums: Sequence[Any]) -> list[Any]:
        for place in following:
            registers.prefetch_at(builder, builder.gep(place, [start]))
        left = builder.sub(dim, start)
        n_dims = builder.select(builder.icmp_signed("<", left, INDEX(_LINE)), left, INDEX(_LINE))

        def dimension(d: Any, sums: Sequence[Any]) -> list[Any]:
            d = builder.add(start, d)
            words = arithmetic.words(strip, d, n_registers)
            added = []
            for k in range(N_TERMS):
                x = arithmetic.term(k, d)
                for v, y in enumerate(words):
                    added.append(arithmetic.added(x, y, sums[k * n_registers + v]))
            return added

        return registers.loop(builder, n_dims, step, sums, dimension)

    return registers.loop(builder, dim, _LINE, [arithmetic.nothing] * (N_TERMS * n_registers), line)


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
