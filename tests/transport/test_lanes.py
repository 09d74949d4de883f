"""Functions on vector registers against NumPy's."""

import numpy as np
import pytest

from reranker.transport.kernels import simd
from reranker.transport.kernels.compiling import compiled


@compiled
def exponentials(x, found):
    for i in range(0, len(x), simd.n_lanes(x)):
        simd.store(found, i, simd.exponential(simd.load(x, i)))


@compiled
def inverse_powers(x, power, found):
    for i in range(0, len(x), simd.n_lanes(x)):
        simd.store(found, i, simd.inverse_power(simd.load(x, i), power))


@compiled
def claims(counter):
    return simd.claim(counter, 3), simd.claim(counter, 3)


@pytest.mark.parametrize(("dtype", "lowest", "tolerance"), [(np.float32, -87, 1e-7), (np.float64, -708, 5e-16)])
def test_the_exponential_is_good_to_the_last_digits(dtype, lowest, tolerance):
    x = np.concatenate([np.linspace(lowest, -lowest, 16 * 4000), np.linspace(-1, 1, 16 * 1000)]).astype(dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    np.testing.assert_allclose(found.astype(np.longdouble), np.exp(x.astype(np.longdouble)), rtol=tolerance)


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87.5), (np.float64, -1000)])
def test_the_exponential_of_less_than_the_least_is_that_of_the_least(dtype, lowest):
    x, found = np.full(16, lowest, dtype), np.empty(16, dtype)
    exponentials(x, found)
    assert (found > 0).all()
    assert (found < (2e-38 if dtype == np.float32 else 1e-307)).all()


@pytest.mark.parametrize("power", [0.1, 1 / 3, 0.75, 0.999])
@pytest.mark.parametrize(("dtype", "least", "tolerance"), [(np.float32, 1e-31, 6.1e-8), (np.float64, 1e-292, 2e-13)])
def test_the_inverse_power_is_good_to_the_last_digits(dtype, least, tolerance, power):
    x = np.concatenate([np.geomspace(least, 1 / least, 16 * 4000), np.linspace(0.5, 2, 16 * 1000)]).astype(dtype)
    found = np.empty_like(x)
    inverse_powers(x, power, found)
    np.testing.assert_allclose(
        found.astype(np.longdouble), x.astype(np.longdouble) ** -np.longdouble(power), rtol=tolerance
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_inverse_power_keeps_what_is_not_a_number_and_takes_infinity_to_nothing(dtype):
    x, found = np.array([np.nan, np.inf, 1.0, 4.0] * 4, dtype), np.empty(16, dtype)
    inverse_powers(x, 0.25, found)
    np.testing.assert_allclose(found[:4], [np.nan, 0, 1, 0.5**0.5])


def test_no_claim_is_given_twice():
    counter = np.zeros(1, np.int64)
    assert claims(counter) == (0, 3)
    assert counter[0] == 6
