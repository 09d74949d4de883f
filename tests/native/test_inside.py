"""Registers of the C code against NumPy, in each type and at each level of instructions that this processor has."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.native.compiling import compile_library
from reranker.native.library import LEVELS, address, declare

pytestmark = pytest.mark.slow  # each is compiled

HERE = LEVELS[declare("instruction_level", "", "i")()]
KINDS = [(dtype, level) for level in range(LEVELS.index(HERE) + 1) for dtype in (np.float32, np.float64)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The C file, compiled for a type and a level."""
    folder, opened = tmp_path_factory.mktemp("inside"), {}

    def of_kind(dtype: type, level: int) -> ctypes.CDLL:
        path = folder / f"{np.dtype(dtype).name}_{level}.so"
        if path not in opened:
            options = (f"-DKIND={path.stem}", f"-DIS_SINGLE={int(dtype is np.float32)}", f"-DLEVEL={level}")
            options += ("-Wno-unused-function",)
            compile_library(path, options, sources=[Path(__file__).with_name("inside.c")])
            opened[path] = ctypes.CDLL(str(path))
        return opened[path]

    return of_kind


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0].__name__}-{LEVELS[kind[1]]}")
def kind(request, compiled):
    dtype, level = request.param
    return dtype, (16 << level) // np.dtype(dtype).itemsize, compiled(dtype, level)


def p(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(address(array))


def exponentials(inside: ctypes.CDLL, x: np.ndarray) -> np.ndarray:
    found = np.empty_like(x)
    inside.exponentials(p(x), ctypes.c_int64(len(x)), p(found))
    return found


def inverse_powers(inside: ctypes.CDLL, x: np.ndarray, power: float) -> np.ndarray:
    found = x.copy()
    inside.inverse_powers(p(found), ctypes.c_int64(len(x)), ctypes.c_double(power))
    return found


def test_the_exponential_is_good_to_the_last_digits(kind):
    dtype, _, inside = kind
    lowest, tolerance = (-87, 1e-7) if dtype is np.float32 else (-708, 5e-16)
    x = np.concatenate([np.linspace(lowest, -lowest, 16 * 4000), np.linspace(-1, 1, 16 * 1000)]).astype(dtype)
    found = exponentials(inside, x).astype(np.longdouble)
    np.testing.assert_allclose(found, np.exp(x.astype(np.longdouble)), rtol=tolerance)


def test_the_exponential_of_less_than_the_least_is_that_of_the_least(kind):
    dtype, _, inside = kind
    found = exponentials(inside, np.full(16, -87.5 if dtype is np.float32 else -1000, dtype))
    assert (found > 0).all()
    assert (found < (2e-38 if dtype is np.float32 else 1e-307)).all()


@pytest.mark.parametrize("power", [0.1, 1 / 3, 0.75, 0.999])
def test_the_inverse_power_is_good_to_the_last_digits(kind, power):
    dtype, _, inside = kind
    least, tolerance = (1e-31, 6.1e-8) if dtype is np.float32 else (1e-292, 2e-13)
    x = np.concatenate([np.geomspace(least, 1 / least, 16 * 4000), np.linspace(0.5, 2, 16 * 1000)]).astype(dtype)
    found = inverse_powers(inside, x, power).astype(np.longdouble)
    np.testing.assert_allclose(found, x.astype(np.longdouble) ** -np.longdouble(power), rtol=tolerance)


def test_the_inverse_power_keeps_what_is_not_a_number_and_takes_infinity_to_nothing(kind):
    dtype, _, inside = kind
    found = inverse_powers(inside, np.array([np.nan, np.inf, 1.0, 4.0] * 4, dtype), 0.25)
    np.testing.assert_allclose(found[:4], [np.nan, 0, 1, 0.5**0.5])


def test_totals_and_leasts_of_registers_are_those_of_their_lanes(kind):
    dtype, n_lanes, inside = kind
    x = np.random.default_rng(2).standard_normal((24, n_lanes)).astype(dtype)
    found = np.empty((4, 24), dtype)
    inside.register_totals(p(x), ctypes.c_int64(24), *map(p, found))
    for totals in found[:3]:
        np.testing.assert_allclose(totals, x.sum(axis=1), atol=1e-5 if dtype is np.float32 else 1e-14)
    np.testing.assert_array_equal(found[3], x.min(axis=1))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from([-np.inf, np.inf, np.nan, -9.0, -2.2, -0.2, 0.0, 0.4, 2.2]), min_size=3, max_size=11),
)
def test_no_potential_makes_the_dual_bound_too_high(compiled, seed, potential):
    random = np.random.default_rng(seed)
    n, m, width = len(potential), int(random.integers(1, 12)), 16
    cost, a, b = random.random((m, width)) * 2, random.dirichlet(np.ones(n)), random.dirichlet(np.ones(m))
    index, f = np.arange(m, dtype=np.int32), np.empty(width)
    filled = np.array(potential + [-np.inf] * (width - n))
    for level in range(LEVELS.index(HERE) + 1):
        function = compiled(np.float64, level).dual_value_of
        function.restype, n_, m_, width_ = ctypes.c_double, *map(ctypes.c_int64, (n, m, width))
        value = function(p(cost), width_, p(index), m_, p(a), n_, p(b), p(filled), p(f))
        assert not np.isfinite(value) or value <= ot.emd2(b, a, np.ascontiguousarray(cost[:, :n])) + 1e-12
