"""Vector registers for compiled code: 64 bytes of float32 or float64 that are loaded, combined and stored at once.

LLVM turns loops over arrays into vector code where it can see that it may; here it is told to. The operations are
LLVM's own on <16 x float> and <8 x double>, which it maps to what the machine has (AVX-512, AVX2, NEON, SSE). They can
be called from compiled functions only. Nothing is checked: an index outside an array is outside the array.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

REGISTER_BYTES = 64
INDEX = ir.IntType(64)
# Sums in any order; a product and a sum in one step where the machine can.
FLAGS = ("reassoc", "contract", "nsz")
# In the order in which they are written. (What has no flag gets all of those above from Numba.)
_IN_ORDER = ("contract",)

# Numba gives the type of what it makes of them, (typing, ...); callers pass what follows that.
compiled_only: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


def has(*features: str) -> bool:
    """Whether the machine that code is compiled for has all of these, in LLVM's names: what Numba was told
    (`NUMBA_CPU_FEATURES`, `NUMBA_ENABLE_AVX`), or else what LLVM finds here."""
    told: str | None = getattr(config, "CPU_FEATURES", None)
    if told is not None:
        return {f"+{feature}" for feature in features} <= set(told.split(","))
    here, with_avx = binding.get_host_cpu_features(), getattr(config, "ENABLE_AVX", True)
    return all(here.get(one, False) and (with_avx or not one.startswith("avx")) for one in features)


# Whether it has the 32 registers of 512 bits of AVX-512: where not, each register of ours is two of 256 bits (of 16) or
# four of 128 (of 16 or 32).
WIDE = has("avx512f")


class Lanes(types.Type):
    """The type of a register: 16 float32 or 8 float64."""

    def __init__(self, element: Any, n_lanes: int | None = None) -> None:
        self.element = element
        self.n_lanes = n_lanes or REGISTER_BYTES * 8 // element.bitwidth
        super().__init__(name=f"Lanes({element} x {self.n_lanes})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    """Kept as LLVM keeps it."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, vector(lanes))  # type: ignore[no-untyped-call]


def scalar(lanes: Lanes) -> ir.Type:
    """The type of one lane, in LLVM's types."""
    return ir.FloatType() if lanes.element.bitwidth == 32 else ir.DoubleType()


def vector(lanes: Lanes) -> ir.VectorType:
    """The type of a register, in LLVM's types."""
    return ir.VectorType(scalar(lanes), lanes.n_lanes)


def data(context: Any, builder: Any, array: Any, value: Any) -> Any:
    """The pointer to the first element of a contiguous array."""
    return proxy(context, builder, array, value).data


def length(context: Any, builder: Any, array: Any, value: Any) -> Any:
    """The number of elements of an array."""
    return proxy(context, builder, array, value).nitems


def proxy(context: Any, builder: Any, array: Any, value: Any) -> Any:
    """An array's fields: data, shape, nitems."""
    fields: Any = cgutils.create_struct_proxy(array)  # type: ignore[no-untyped-call]
    return fields(context, builder, value=value)


def load_at(builder: Any, lanes: Lanes, pointer: Any) -> Any:
    loaded = builder.load(builder.bitcast(pointer, vector(lanes).as_pointer()))
    loaded.align = lanes.element.bitwidth // 8
    return loaded


def store_at(builder: Any, lanes: Lanes, register: Any, pointer: Any) -> None:
    stored = builder.store(register, builder.bitcast(pointer, vector(lanes).as_pointer()))
    stored.align = lanes.element.bitwidth // 8


@compiled_only
def load(typing: Any, array: Any, index: Any) -> Any:
    """The register that begins at the flat index of an array, counted over all its dimensions."""
    return loading(Lanes(array.dtype), array)


def loading(lanes: Lanes, array: Any) -> Any:
    """What `load` is for registers of any number of lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(data(context, builder, array, arguments[0]), [arguments[1]])
        return load_at(builder, lanes, pointer)

    return lanes(array, types.intp), generate


@compiled_only
def store(typing: Any, array: Any, index: Any, lanes: Lanes) -> Any:
    """Writes a register to the flat index of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(data(context, builder, array, arguments[0]), [arguments[1]])
        store_at(builder, lanes, arguments[2], pointer)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@compiled_only
def n_ones(typing: Any, bits: Any) -> Any:
    """How many bits of an unsigned integer are 1."""
    return types.int64(types.uint64), lambda context, builder, _, arguments: builder.ctpop(arguments[0])


@compiled_only
def claim(typing: Any, counter: Any, step: Any) -> Any:
    """Adds to the first element of an int64 array and gives what it was before; no two threads get the same."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", data(context, builder, counter, arguments[0]), arguments[1], "monotonic")

    return types.int64(counter, types.int64), generate


@compiled_only
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Has the cache line of a flat index fetched; an index outside the array does no harm."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        prefetch_at(builder, builder.gep(data(context, builder, array, arguments[0]), [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def prefetch_at(builder: Any, pointer: Any) -> None:
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, function_type, "llvm.prefetch.p0i8"
    )
    to_read, to_all_caches, of_data = number(0), number(3), number(1)
    builder.call(function, [builder.bitcast(pointer, byte), to_read, to_all_caches, of_data])


def loop(
    builder: Any, stop: Any, step: int, carried: Sequence[Any], body: Callable[[Any, Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """`carried = body(i, carried)` for i = 0, step, 2 step, … below `stop`, and for 0 in any case; what is carried
    stays in registers."""
    before = builder.block
    inside, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(inside)
    builder.position_at_end(inside)
    index = builder.phi(INDEX)
    index.add_incoming(INDEX(0), before)
    values = [builder.phi(value.type) for value in carried]
    following = list(body(index, values))
    next_index, end = builder.add(index, INDEX(step)), builder.block
    index.add_incoming(next_index, end)
    for value, first, last in zip(values, carried, following, strict=True):
        value.add_incoming(first, before)
        value.add_incoming(last, end)
    builder.cbranch(builder.icmp_signed("<", next_index, stop), inside, after)
    builder.position_at_end(after)
    return following


@compiled_only
def n_lanes(typing: Any, array: Any) -> Any:
    """How many elements of the array are in a register."""
    count = Lanes(array.dtype).n_lanes
    return types.intp(array), lambda context, *_: context.get_constant(types.intp, count)


@compiled_only
def spread(typing: Any, array: Any, value: Any) -> Any:
    """A register of the array's type that holds a value in every lane."""
    return spreading(Lanes(array.dtype), array)


def spreading(lanes: Lanes, array: Any) -> Any:
    """What `spread` is for registers of any number of lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return spread_value(builder, arguments[1], lanes)

    return lanes(array, array.dtype), generate


def spread_value(builder: Any, value: Any, lanes: Lanes) -> Any:
    """The value, a float or a whole number, in every lane."""
    empty = ir.Constant(ir.VectorType(value.type, lanes.n_lanes), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return shuffle(builder, first, empty, [0] * lanes.n_lanes)


def _made(generate: Callable[..., Any], lanes: Lanes, n_arguments: int) -> Any:
    """An operation on registers of one type, lane by lane."""
    return lanes(*[lanes] * n_arguments), lambda context, builder, _, arguments: generate(builder, lanes, *arguments)


def _unary(generate: Callable[..., Any]) -> Callable[..., Any]:
    def operation(typing: Any, x: Lanes) -> Any:
        return _made(generate, x, 1)

    return compiled_only(operation)


def _binary(generate: Callable[..., Any]) -> Callable[..., Any]:
    def operation(typing: Any, x: Lanes, y: Lanes) -> Any:
        return _made(generate, x, 2)

    return compiled_only(operation)


def _ternary(generate: Callable[..., Any]) -> Callable[..., Any]:
    def operation(typing: Any, x: Lanes, y: Lanes, z: Lanes) -> Any:
        return _made(generate, x, 3)

    return compiled_only(operation)


def call(builder: Any, lanes: Lanes, name: str, *arguments: Any) -> Any:
    """One of LLVM's own functions on vectors."""
    full_name = f"llvm.{name}.v{lanes.n_lanes}f{lanes.element.bitwidth}"
    function_type = ir.FunctionType(vector(lanes), [vector(lanes)] * len(arguments))
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, function_type, full_name
    )
    return builder.call(function, arguments)


def times_plus(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z, rounded once where the machine can."""
    return builder.fadd(builder.fmul(x, y, flags=FLAGS), z, flags=FLAGS)


def _larger(builder: Any, lanes: Lanes, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _smaller(builder: Any, lanes: Lanes, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


# x + y, x - y, x y, x / y, x y + z, the square root and the size of x
add = _binary(lambda builder, _, x, y: builder.fadd(x, y, flags=FLAGS))
subtract = _binary(lambda builder, _, x, y: builder.fsub(x, y, flags=FLAGS))
multiply = _binary(lambda builder, _, x, y: builder.fmul(x, y, flags=FLAGS))
divide = _binary(lambda builder, _, x, y: builder.fdiv(x, y, flags=FLAGS))
multiply_add = _ternary(lambda builder, _, x, y, z: times_plus(builder, x, y, z))
root = _unary(lambda builder, lanes, x: call(builder, lanes, "sqrt", x))
size = _unary(lambda builder, lanes, x: call(builder, lanes, "fabs", x))
# The larger and the smaller of x and y; y where x is NaN, and NaN where y is.
larger = _binary(_larger)
smaller = _binary(_smaller)


def shuffle(builder: Any, x: Any, y: Any, places: list[int]) -> Any:
    """Lanes of x, and of y (counted on from those of x), put together."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    return builder.shuffle_vector(x, y, mask)


def fold(builder: Any, lanes: Lanes, run: int, x: Any, y: Any) -> Any:
    """Adds the second half of every run of lanes to its first half; what is left of x, then what is left of y."""
    kept = [lane for lane in range(2 * lanes.n_lanes) if lane % run < run // 2]
    first, second = (shuffle(builder, x, y, [lane + off for lane in kept]) for off in (0, run // 2))
    return builder.fadd(first, second, flags=FLAGS)


@compiled_only
def total(typing: Any, lanes: Lanes) -> Any:
    """The sum over the lanes."""
    return lanes.element(lanes), lambda context, builder, _, arguments: total_of(builder, lanes, arguments[0])


def total_of(builder: Any, lanes: Lanes, register: Any) -> Any:
    """The sum over the lanes, in generated code."""
    folded, run = register, lanes.n_lanes
    while run > 1:
        folded = fold(builder, lanes, run, folded, folded)
        run //= 2
    return builder.extract_element(folded, ir.Constant(ir.IntType(32), 0))


@compiled_only
def least_of(typing: Any, lanes: Lanes) -> Any:
    """The smallest of the lanes."""
    return lanes.element(lanes), lambda context, builder, _, arguments: _extreme(builder, lanes, _smaller, arguments[0])


@compiled_only
def largest_of(typing: Any, lanes: Lanes) -> Any:
    """The largest of the lanes."""
    return lanes.element(lanes), lambda context, builder, _, arguments: _extreme(builder, lanes, _larger, arguments[0])


def _extreme(builder: Any, lanes: Lanes, choose: Callable[..., Any], extreme: Any) -> Any:
    half = lanes.n_lanes // 2
    while half:
        places = [lane ^ half for lane in range(lanes.n_lanes)]
        extreme = choose(builder, lanes, extreme, shuffle(builder, extreme, extreme, places))
        half //= 2
    return builder.extract_element(extreme, ir.Constant(ir.IntType(32), 0))


# exp(x) = 2^k exp(r) with x = k log 2 + r, |r| <= log 2 / 2. By bits of the type: the least x (below it exp is
# denormal), log 2 in two parts of which k times the first is exact, the terms of the series of exp(r) (what is left out
# is below 5e-9 and 2e-16), and where the exponent lies in the number.
_EXPONENTIAL = {
    32: (-87.0, 0.693359375, math.log(2) - 0.693359375, 8, 23),
    64: (-708.0, 0.693147182464599609375, -1.9046542999577678785e-09, 13, 52),
}
# Terms of 2 (s + s^3 / 3 + s^5 / 5 + …) = log((1 + s) / (1 - s)): for |s| <= 0.172 what is left out is below 1e-17.
_LOGARITHM_TERMS = 11


@compiled_only
def exponential(typing: Any, x: Lanes) -> Any:
    """exp(x) for x up to 87 (float32, to 1e-7 of the result) or 708 (float64, to 4e-16); for x below -87 or -708 it
    is exp of these."""
    return x(x), lambda context, builder, _, arguments: _exponential(builder, x, arguments[0])


def constant(lanes: Lanes, value: float) -> Any:
    return ir.Constant(vector(lanes), [value] * lanes.n_lanes)


def _exponential(builder: Any, lanes: Lanes, x: Any) -> Any:
    lowest, log_2, log_2_rest, n_terms, n_bits = _EXPONENTIAL[lanes.element.bitwidth]
    whole = ir.VectorType(ir.IntType(lanes.element.bitwidth), lanes.n_lanes)
    value = _larger(builder, lanes, x, constant(lanes, lowest))
    # A sum with this number has no digits behind the point. So it rounds, and its last bits are k.
    rounding = constant(lanes, 1.5 * 2.0**n_bits)
    shifted = _in_order(builder, value, constant(lanes, math.log2(math.e)), rounding)
    k = builder.fsub(shifted, rounding, flags=_IN_ORDER)
    rest = _in_order(builder, k, constant(lanes, -log_2), value)
    rest = _in_order(builder, k, constant(lanes, -log_2_rest), rest)
    series = constant(lanes, 1 / math.factorial(n_terms - 1))
    for power in reversed(range(n_terms - 1)):
        series = times_plus(builder, series, rest, constant(lanes, 1 / math.factorial(power)))
    # Times 2^k: k is added to the exponent.
    raised = builder.shl(builder.bitcast(shifted, whole), ir.Constant(whole, [n_bits] * lanes.n_lanes))
    return builder.bitcast(builder.add(builder.bitcast(series, whole), raised), vector(lanes))


def _in_order(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z; unlike `times_plus` it keeps its place among other sums."""
    return builder.fadd(builder.fmul(x, y, flags=_IN_ORDER), z, flags=_IN_ORDER)


def _logarithm(builder: Any, lanes: Lanes, x: Any) -> Any:
    """log(2^k m), m from sqrt(1/2) to sqrt(2), of normal positive float64; to 2e-16 of the result or of 1."""
    whole = ir.VectorType(ir.IntType(64), lanes.n_lanes)

    def number(value: int) -> Any:
        return ir.Constant(whole, [value] * lanes.n_lanes)

    root_half = struct.unpack("<q", struct.pack("<d", math.sqrt(0.5)))[0]
    above = builder.sub(builder.bitcast(x, whole), number(root_half))
    k = builder.ashr(above, number(52))
    fraction = builder.bitcast(builder.add(builder.and_(above, number(2**52 - 1)), number(root_half)), vector(lanes))
    k = builder.sitofp(builder.trunc(k, ir.VectorType(ir.IntType(32), lanes.n_lanes)), vector(lanes))
    one = constant(lanes, 1.0)
    s = builder.fdiv(builder.fsub(fraction, one), builder.fadd(fraction, one))
    square, series = builder.fmul(s, s), constant(lanes, 2 / (2 * _LOGARITHM_TERMS - 1))
    for term in reversed(range(_LOGARITHM_TERMS - 1)):
        series = times_plus(builder, series, square, constant(lanes, 2 / (2 * term + 1)))
    return times_plus(builder, k, constant(lanes, math.log(2)), builder.fmul(series, s))


@compiled_only
def inverse_power(typing: Any, x: Lanes, power: Any) -> Any:
    """x^-power of normal positive numbers, computed in float64: to 2e-13 of the result, or to the last bit of float32;
    0 where x is infinite and NaN where it is NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = Lanes(types.float64, x.n_lanes)
        single, minus = x.element.bitwidth == 32, builder.fneg(arguments[1])
        value = builder.fpext(arguments[0], vector(wide)) if single else arguments[0]
        exponent = builder.fmul(spread_value(builder, minus, wide), _logarithm(builder, wide, value))
        found = _exponential(builder, wide, exponent)
        found = builder.fptrunc(found, vector(x)) if single else found
        finite = builder.fcmp_ordered("<", arguments[0], constant(x, math.inf))
        return builder.select(finite, found, builder.fdiv(constant(x, 1.0), arguments[0]))

    return x(x, types.float64), generate
