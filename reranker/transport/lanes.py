"""Vector registers for compiled code: 64 bytes of float32 or float64 that are loaded, combined and stored at once.

LLVM turns loops over arrays into vector code where it can see that it may; here it is told to. The operations are
LLVM's own on <16 x float> and <8 x double>, which it maps to what the machine has (AVX-512, AVX2, NEON, SSE). They can
be called from compiled functions only. Nothing is checked: an index outside an array is outside the array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

REGISTER_BYTES = 64
# Of four rows that are summed together.
GROUP = 4

# Sums in any order; a product and a sum in one step where the machine can.
_FLAGS = ("reassoc", "contract", "nsz")

# Numba gives the type of what it makes of them, (typing, ...); callers pass what follows that.
_compiled_only: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


class Lanes(types.Type):
    """The type of a register: 16 float32 or 8 float64."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.n_lanes = REGISTER_BYTES * 8 // element.bitwidth
        super().__init__(name=f"Lanes({element})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    """Kept as LLVM keeps it."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, _vector(lanes))  # type: ignore[no-untyped-call]


def _scalar(element: Any) -> ir.Type:
    return ir.FloatType() if element.bitwidth == 32 else ir.DoubleType()


def _vector(lanes: Lanes) -> ir.VectorType:
    return ir.VectorType(_scalar(lanes.element), lanes.n_lanes)


def _place(context: Any, builder: Any, array: Any, value: Any, index: Any, vector: ir.Type) -> Any:
    """A pointer to a vector at a place of a contiguous array, counted over all its dimensions."""
    proxy: Any = cgutils.create_struct_proxy(array)  # type: ignore[no-untyped-call]
    data = proxy(context, builder, value=value).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


@_compiled_only
def load(typing: Any, array: Any, index: Any) -> Any:
    """The register that begins at the flat index of an array."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_place(context, builder, array, arguments[0], arguments[1], _vector(lanes)))
        loaded.align = array.dtype.bitwidth // 8
        return loaded

    return lanes(array, types.intp), generate


@_compiled_only
def store(typing: Any, array: Any, index: Any, lanes: Lanes) -> Any:
    """Writes a register to the flat index of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, place, register = arguments
        stored = builder.store(register, _place(context, builder, array, value, place, _vector(lanes)))
        stored.align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@_compiled_only
def n_lanes(typing: Any, array: Any) -> Any:
    """How many elements of the array are in a register."""
    count = Lanes(array.dtype).n_lanes
    return types.intp(array), lambda context, *_: context.get_constant(types.intp, count)


@_compiled_only
def spread(typing: Any, array: Any, value: Any) -> Any:
    """A register of the array's type that holds a value in every lane."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[1], lanes)

    return lanes(array, array.dtype), generate


def _spread(builder: Any, value: Any, lanes: Lanes) -> Any:
    vector = _vector(lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes.n_lanes), [0] * lanes.n_lanes)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _made(generate: Callable[..., Any], lanes: Lanes, n_arguments: int) -> Any:
    """An operation on registers of one type, lane by lane."""
    return lanes(*[lanes] * n_arguments), lambda context, builder, _, arguments: generate(builder, lanes, *arguments)


def _unary(generate: Callable[..., Any]) -> Callable[..., Any]:
    def operation(typing: Any, x: Lanes) -> Any:
        return _made(generate, x, 1)

    return _compiled_only(operation)


def _binary(generate: Callable[..., Any]) -> Callable[..., Any]:
    def operation(typing: Any, x: Lanes, y: Lanes) -> Any:
        return _made(generate, x, 2)

    return _compiled_only(operation)


def _ternary(generate: Callable[..., Any]) -> Callable[..., Any]:
    def operation(typing: Any, x: Lanes, y: Lanes, z: Lanes) -> Any:
        return _made(generate, x, 3)

    return _compiled_only(operation)


def _call(builder: Any, lanes: Lanes, name: str, *arguments: Any) -> Any:
    """One of LLVM's own functions on vectors."""
    vector = _vector(lanes)
    full_name = f"llvm.{name}.v{lanes.n_lanes}f{lanes.element.bitwidth}"
    function_type = ir.FunctionType(vector, [vector] * len(arguments))
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, function_type, full_name
    )
    return builder.call(function, arguments)


def _larger(builder: Any, lanes: Lanes, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _smaller(builder: Any, lanes: Lanes, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


# x + y, x - y, x y, x / y, x y + z, the square root and the size of x
add = _binary(lambda builder, _, x, y: builder.fadd(x, y, flags=_FLAGS))
subtract = _binary(lambda builder, _, x, y: builder.fsub(x, y, flags=_FLAGS))
multiply = _binary(lambda builder, _, x, y: builder.fmul(x, y, flags=_FLAGS))
divide = _binary(lambda builder, _, x, y: builder.fdiv(x, y, flags=_FLAGS))
multiply_add = _ternary(lambda builder, _, x, y, z: builder.fadd(builder.fmul(x, y, flags=_FLAGS), z, flags=_FLAGS))
root = _unary(lambda builder, lanes, x: _call(builder, lanes, "sqrt", x))
size = _unary(lambda builder, lanes, x: _call(builder, lanes, "fabs", x))
# The larger and the smaller of x and y; y where x is NaN, and NaN where y is.
larger = _binary(_larger)
smaller = _binary(_smaller)


def _shuffle(builder: Any, x: Any, y: Any, places: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    return builder.shuffle_vector(x, y, mask)


def _fold(builder: Any, n: int, run: int, x: Any, y: Any) -> Any:
    """Adds the second half of every run of lanes to its first half; what is left of x, then what is left of y."""
    kept = [lane for lane in range(2 * n) if lane % run < run // 2]
    first, second = (_shuffle(builder, x, y, [lane + off for lane in kept]) for off in (0, run // 2))
    return builder.fadd(first, second, flags=_FLAGS)


@_compiled_only
def summed(typing: Any, s0: Lanes, s1: Lanes, s2: Lanes, s3: Lanes) -> Any:
    """Four registers added up to a quarter register each, side by side."""

    def generate(context: Any, builder: Any, signature: Any, sums: Any) -> Any:
        n = s0.n_lanes
        pairs = [_fold(builder, n, n, sums[0], sums[1]), _fold(builder, n, n, sums[2], sums[3])]
        return _fold(builder, n, n // 2, *pairs)

    return s0(s0, s1, s2, s3), generate


@_compiled_only
def totals(typing: Any, q0: Lanes, q1: Lanes, q2: Lanes, q3: Lanes) -> Any:
    """What `summed` gave, added up to one lane each; of float64, where a register is full by then, of the first two."""

    def generate(context: Any, builder: Any, signature: Any, quarters: Any) -> Any:
        n, run = q0.n_lanes, q0.n_lanes // GROUP
        left = list(quarters[: n // GROUP])
        while len(left) > 1:
            left = [_fold(builder, n, run, *left[k : k + 2]) for k in range(0, len(left), 2)]
            run //= 2
        return left[0]

    return q0(q0, q1, q2, q3), generate


@_compiled_only
def total(typing: Any, lanes: Lanes) -> Any:
    """The sum over the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        folded, run = arguments[0], lanes.n_lanes
        while run > 1:
            folded = _fold(builder, lanes.n_lanes, run, folded, folded)
            run //= 2
        return builder.extract_element(folded, ir.Constant(ir.IntType(32), 0))

    return lanes.element(lanes), generate


@_compiled_only
def least_of(typing: Any, lanes: Lanes) -> Any:
    """The smallest of the lanes."""
    return lanes.element(lanes), lambda context, builder, _, arguments: _extreme(builder, lanes, _smaller, arguments[0])


@_compiled_only
def largest_of(typing: Any, lanes: Lanes) -> Any:
    """The largest of the lanes."""
    return lanes.element(lanes), lambda context, builder, _, arguments: _extreme(builder, lanes, _larger, arguments[0])


def _extreme(builder: Any, lanes: Lanes, choose: Callable[..., Any], extreme: Any) -> Any:
    half = lanes.n_lanes // 2
    while half:
        places = [lane ^ half for lane in range(lanes.n_lanes)]
        extreme = choose(builder, lanes, extreme, _shuffle(builder, extreme, extreme, places))
        half //= 2
    return builder.extract_element(extreme, ir.Constant(ir.IntType(32), 0))


# Below it exp would be denormal; exp(-708) is 3e-308.
_LOWEST = -708.0
# The series of exp(r) up to r^12 / 12!: for |r| <= log 2 / 2 what is left out is below 2e-16.
_SERIES = [1 / math.factorial(k) for k in range(13)]


@_compiled_only
def exponential(typing: Any, x: Lanes) -> Any:
    """exp(x) of float64 up to 708, to 2e-13 of the result; exp(-708) for what is less.

    exp(x) = 2^k exp(r) with x = k log 2 + r; 2^k is written into the exponent of a number.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def constant(value: float) -> Any:
            return ir.Constant(_vector(x), [value] * x.n_lanes)

        def times_plus(y: Any, z: Any, w: Any) -> Any:
            return builder.fadd(builder.fmul(y, z, flags=_FLAGS), w, flags=_FLAGS)

        half, whole = (ir.VectorType(ir.IntType(bits), x.n_lanes) for bits in (32, 64))
        value = _larger(builder, x, arguments[0], constant(_LOWEST))
        k = _call(builder, x, "rint", builder.fmul(value, constant(math.log2(math.e))))
        rest = times_plus(k, constant(-math.log(2)), value)
        series = constant(_SERIES[-1])
        for coefficient in reversed(_SERIES[:-1]):
            series = times_plus(series, rest, constant(coefficient))
        exponent = builder.add(builder.fptosi(k, half), ir.Constant(half, [1023] * x.n_lanes))
        bits = builder.shl(builder.zext(exponent, whole), ir.Constant(whole, [52] * x.n_lanes))
        return builder.fmul(series, builder.bitcast(bits, _vector(x)))

    return x(x), generate
