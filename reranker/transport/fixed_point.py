"""Inner products of unit vectors in fixed point: rounded to multiples of 1/32,767, multiplied and summed as integers.

Machines with VNNI (Intel's and AMD's of 2019 and later) multiply pairs of 16-bit integers and add both products to a
32-bit sum in one step: twice the products of float32 in the same time. The sum is exact and cannot overflow, since no
part of the inner product of two unit vectors is larger than 1 (Cauchy and Schwarz). What is lost is lost by rounding
the vectors: 1.3e-5 in the mean square of a product, 7e-5 at most of some ten million. Over the words of a long query it
averages out: distances are off by some 1e-6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from reranker.transport import lanes as registers
from reranker.transport.lanes import INDEX, Lanes

# Fewer words average little out, and their products take less time than fetching the embeddings does.
LEAST_WORDS = 128
# A Euclidean cost is off by the error of the product, divided by the cost: below this it is computed again from the
# difference (in float32 from `cost.CLOSE_COST` down).
CLOSE_COST = 0.6
DIMS_TOGETHER = 2

_ONE = 32767
# With rows of norms whose squares are below it, and query words of norm 1 to a hundredth, no sum overflows.
_LARGEST_SQUARED_NORM = 3.5
_FLOATS = Lanes(types.float32)
_N_LANES = _FLOATS.n_lanes
_SUMS = ir.VectorType(ir.IntType(32), _N_LANES)
_PAIRS = ir.VectorType(ir.IntType(16), 2 * _N_LANES)

AVAILABLE = registers.has("avx512vnni", "avx512bw") or registers.has("avxvnni", "avx2")


def serves(n_words: int, dim: int) -> bool:
    """Whether products with so many query words are to be computed in fixed point on this machine."""
    return AVAILABLE and n_words >= LEAST_WORDS and dim >= _N_LANES


def rounded(rows: NDArray[np.floating]) -> NDArray[np.int16]:
    """Rows of norm 1 in fixed point, filled up with a zero to whole pairs of dimensions."""
    whole = np.rint(np.clip(rows, -1, 1) * _ONE).astype(np.int16)
    return np.pad(whole, ((0, 0), (0, -rows.shape[1] % DIMS_TOGETHER)))


class FixedPoint:
    """Generates the code of these products, two dimensions at a time (`products`)."""

    dims_together = DIMS_TOGETHER

    def __init__(self, builder: Any, rows: Sequence[Any], dim: Any, panel: Any, room: Any) -> None:
        """Rounds the embeddings of some terms.

        Args:
            rows: pointers to them, float32; panel: the query's words, rounded; room: where theirs go, one row after
            the other.
        """
        self._builder = builder
        self._whole_dim = builder.and_(builder.add(dim, INDEX(DIMS_TOGETHER - 1)), INDEX(-DIMS_TOGETHER))
        self._panel = panel
        self._rounded = [builder.gep(room, [builder.mul(self._whole_dim, INDEX(k))]) for k in range(len(rows))]
        # 0 in every lane, or NaN for a row that is not finite or too long
        self._flaws = [self._round(row, dim, place) for row, place in zip(rows, self._rounded, strict=True)]
        self.nothing = ir.Constant(_SUMS, [0] * _N_LANES)

    def words_of_strip(self, column: Any, dim: Any) -> Any:
        """Where the strip that begins at a column lies in the panel."""
        return self._builder.gep(self._panel, [self._builder.mul(column, self._whole_dim)])

    def words(self, strip: Any, d: Any, n_registers: int) -> list[Any]:
        """The registers of the strip's words at two dimensions."""
        n = 2 * _N_LANES
        at = self._builder.gep(strip, [self._builder.mul(d, INDEX(n_registers * _N_LANES))])
        return [self._load(_PAIRS, self._builder.gep(at, [INDEX(v * n)])) for v in range(n_registers)]

    def term(self, k: int, d: Any) -> Any:
        """A term's values at two dimensions, in every lane."""
        pair = self._load(ir.IntType(32), self._builder.gep(self._rounded[k], [d]))
        empty = ir.Constant(_SUMS, ir.Undefined)
        first = self._builder.insert_element(empty, pair, ir.IntType(32)(0))
        return self._builder.bitcast(registers.shuffle(self._builder, first, empty, [0] * _N_LANES), _PAIRS)

    def added(self, x: Any, y: Any, total: Any) -> Any:
        """Both products of each lane, added to its sum; one instruction with VNNI."""
        return self._builder.add(total, _both_products(self._builder, x, y))

    def product(self, total: Any, k: int) -> Any:
        """What the sum over all dimensions of a term is, as floats."""
        value = self._builder.sitofp(total, registers.vector(_FLOATS))
        return registers.times_plus(self._builder, value, _everywhere(1 / _ONE**2), self._flaws[k])

    def _round(self, row: Any, dim: Any, place: Any) -> Any:
        """Writes a row in fixed point, and says what is wrong with it: 0 or NaN, in every lane.

        The last register ends with the row, so that some values are rounded, and squared, twice.
        """
        builder, short = self._builder, ir.VectorType(ir.IntType(16), _N_LANES)
        last = builder.sub(dim, INDEX(_N_LANES))

        def step(i: Any, carried: Sequence[Any]) -> list[Any]:
            i = builder.select(builder.icmp_signed("<", i, last), i, last)
            x = registers.load_at(builder, _FLOATS, builder.gep(row, [i]))
            scaled = builder.fmul(x, _everywhere(_ONE))
            for bound, beyond in ((_ONE, ">"), (-_ONE, "<")):  # NaN becomes a bound too
                too_far = builder.fcmp_unordered(beyond, scaled, _everywhere(bound))
                scaled = builder.select(too_far, _everywhere(bound), scaled)
            whole = builder.fptosi(registers.call(builder, _FLOATS, "rint", scaled), _SUMS)
            pointer = builder.bitcast(builder.gep(place, [i]), short.as_pointer())
            builder.store(builder.trunc(whole, short), pointer).align = 2
            return [registers.times_plus(builder, x, x, carried[0])]

        (squares,) = registers.loop(builder, dim, _N_LANES, [_everywhere(0)], step)
        norm = registers.total_of(builder, _FLOATS, squares)
        sound = builder.fcmp_ordered("<", norm, ir.Constant(ir.FloatType(), _LARGEST_SQUARED_NORM))
        flaw = builder.select(sound, ir.Constant(ir.FloatType(), 0.0), ir.Constant(ir.FloatType(), float("nan")))
        return registers.spread_value(builder, flaw, _FLOATS)

    def _load(self, kind: Any, pointer: Any) -> Any:
        loaded = self._builder.load(self._builder.bitcast(pointer, kind.as_pointer()))
        loaded.align = 2
        return loaded


def _everywhere(value: float) -> Any:
    """A register that holds a number in every lane."""
    return ir.Constant(registers.vector(_FLOATS), [float(np.float32(value))] * _N_LANES)


def _both_products(builder: Any, x: Any, y: Any) -> Any:
    """x_2k y_2k + x_2k+1 y_2k+1 of all lanes k of 32 bits."""
    if registers.WIDE:
        return _pairwise(builder, "avx512.pmaddw.d.512", x, y)
    n = _N_LANES
    first, second = (
        _pairwise(builder, "avx2.pmadd.wd", *[registers.shuffle(builder, z, z, list(half)) for z in (x, y)])
        for half in (range(n), range(n, 2 * n))
    )
    return registers.shuffle(builder, first, second, list(range(n)))


def _pairwise(builder: Any, name: str, x: Any, y: Any) -> Any:
    sums = ir.VectorType(ir.IntType(32), x.type.count // 2)
    function_type = ir.FunctionType(sums, [x.type, y.type])
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, function_type, f"llvm.x86.{name}"
    )
    return builder.call(function, [x, y])
