"""Inner products of unit vectors in fixed point: rounded to multiples of 1/32,767, multiplied and summed as integers.

Machines with VNNI (Intel's of 2019, AMD's of 2022 and later) multiply pairs of 16-bit integers and add both products to
a 32-bit sum in one step: twice the products of float32 in the same time. Without VNNI, but with fast AVX2, costs take
0.77 of the time of float32. The sum is exact and cannot overflow, since no
part of the inner product of two unit vectors is larger than 1 (Cauchy and Schwarz). What is lost is lost by rounding
the vectors, and the sum is divided by the norms that they have then: products are off by 1.3e-5 in the mean square,
7e-5 at most of some ten million. Over the words of a long query it averages out: distances are off by some 1e-6, 6e-5
at the most seen (nearly all weight on one word, or vectors whose values are of few sizes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from reranker.transport.kernels import simd as registers
from reranker.transport.kernels.simd import INDEX, Lanes

# Fewer words average little out, and their products take less time than fetching the embeddings does.
LEAST_WORDS = 128
# A Euclidean cost is off by the error of the product, divided by the cost: below this it is computed again from the
# difference (in float32 from `cost.CLOSE_COST` down).
CLOSE_COST = 0.6
DIMS_TOGETHER = 2

_ONE = 32767
# With rows of a norm below it, and query words of norm 1 to a hundredth, no sum overflows.
_LARGEST_NORM = 1.9
_FLOATS = Lanes(types.float32)
_N_LANES = _FLOATS.n_lanes
_SUMS = ir.VectorType(ir.IntType(32), _N_LANES)
_PAIRS = ir.VectorType(ir.IntType(16), 2 * _N_LANES)

# Without VNNI it takes two instructions. AVX2 machines from about 2020 on (AMD Zen 3) start two of the first in a step;
# older ones start one, and gain nothing over float32. Their other new instructions tell them apart.
AVAILABLE = (
    registers.has("avx512vnni", "avx512bw") or registers.has("avxvnni", "avx2") or registers.has("vpclmulqdq", "avx2")
)


def serves(n_words: int, dim: int) -> bool:
    """Whether products with so many query words are to be computed in fixed point on this machine."""
    return AVAILABLE and n_words >= LEAST_WORDS and dim >= _N_LANES


def rounded(rows: NDArray[np.floating]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Rows of norm 1 in fixed point, filled up with a zero to whole pairs of dimensions, and by what their products are
    to be multiplied: 1 / norm, 0 for a row of zeros."""
    whole = np.rint(np.clip(rows, -1, 1) * _ONE).astype(np.int16)
    norms = np.sqrt(np.einsum("ij,ij->i", whole, whole, dtype=np.float64))
    factors = np.divide(1, norms, out=np.zeros(len(rows)), where=norms > 0).astype(np.float32)
    return np.pad(whole, ((0, 0), (0, -rows.shape[1] % DIMS_TOGETHER))), factors


class FixedPoint:
    """Generates the code of these products, two dimensions at a time (`products`)."""

    dims_together = DIMS_TOGETHER

    def __init__(self, builder: Any, rows: Sequence[Any], dim: Any, panel: Any, factors: Any, room: Any) -> None:
        """Rounds the embeddings of some terms.

        Args:
            rows: pointers to them, float32; panel, factors: of the query's words, as `rounded` gives them; room: where
            theirs go, one row after the other.
        """
        self._builder = builder
        self._whole_dim = builder.and_(builder.add(dim, INDEX(DIMS_TOGETHER - 1)), INDEX(-DIMS_TOGETHER))
        self._panel, self._word_factors = panel, factors
        self._rounded = [builder.gep(room, [builder.mul(self._whole_dim, INDEX(k))]) for k in range(len(rows))]
        self._factors = [self._round(row, dim, place) for row, place in zip(rows, self._rounded, strict=True)]
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
        return self._builder.bitcast(registers.spread_value(self._builder, pair, _FLOATS), _PAIRS)

    def added(self, x: Any, y: Any, total: Any) -> Any:
        """Both products of each lane, added to its sum; one instruction with VNNI."""
        return self._builder.add(total, _both_products(self._builder, x, y))

    def product(self, total: Any, k: int, column: Any) -> Any:
        """What the sums over all dimensions of a term and the words from a column on are, as floats."""
        builder = self._builder
        value = builder.sitofp(total, registers.vector(_FLOATS))
        of_words = registers.load_at(builder, _FLOATS, builder.gep(self._word_factors, [column]))
        return builder.fmul(value, builder.fmul(of_words, self._factors[k]))

    def _round(self, row: Any, dim: Any, place: Any) -> Any:
        """Writes a row in fixed point. The last register ends with the row, so that some values are written twice.

        Returns:
            1 / norm in every lane; NaN for a row that is not finite or too long.
        """
        builder, short = self._builder, ir.VectorType(ir.IntType(16), _N_LANES)
        last = builder.sub(dim, INDEX(_N_LANES))

        def step(i: Any, carried: Sequence[Any]) -> list[Any]:
            start = builder.select(builder.icmp_signed("<", i, last), i, last)
            x = registers.load_at(builder, _FLOATS, builder.gep(row, [start]))
            whole = registers.call(builder, _FLOATS, "rint", builder.fmul(x, registers.constant(_FLOATS, _ONE)))
            held = whole
            for bound, beyond in ((_ONE, ">"), (-_ONE, "<")):  # NaN becomes a bound too
                held = builder.select(
                    builder.fcmp_unordered(beyond, held, registers.constant(_FLOATS, bound)),
                    registers.constant(_FLOATS, bound),
                    held,
                )
            pointer = builder.bitcast(builder.gep(place, [start]), short.as_pointer())
            builder.store(builder.trunc(builder.fptosi(held, _SUMS), short), pointer).align = 2
            counted = builder.select(self._lanes_from(builder.sub(i, start)), whole, registers.constant(_FLOATS, 0))
            return [registers.times_plus(builder, counted, counted, carried[0])]

        (squares,) = registers.loop(builder, dim, _N_LANES, [registers.constant(_FLOATS, 0)], step)
        squared = registers.spread_value(builder, registers.total_of(builder, _FLOATS, squares), _FLOATS)
        sound = builder.fcmp_ordered("<", squared, registers.constant(_FLOATS, (_LARGEST_NORM * _ONE) ** 2))
        nothing = builder.fcmp_ordered("<", squared, registers.constant(_FLOATS, 1))
        norm = registers.call(
            builder, _FLOATS, "sqrt", builder.select(nothing, registers.constant(_FLOATS, 1), squared)
        )
        return builder.select(
            sound, builder.fdiv(registers.constant(_FLOATS, 1), norm), registers.constant(_FLOATS, math.nan)
        )

    def _lanes_from(self, first: Any) -> Any:
        """Which lanes of a register are at a place or after it."""
        places = ir.VectorType(INDEX, _N_LANES)
        firsts = registers.spread_value(self._builder, first, _FLOATS)
        return self._builder.icmp_signed(">=", ir.Constant(places, list(range(_N_LANES))), firsts)

    def _load(self, kind: Any, pointer: Any) -> Any:
        loaded = self._builder.load(self._builder.bitcast(pointer, kind.as_pointer()))
        loaded.align = 2
        return loaded


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
