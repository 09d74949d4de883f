"""Queries of up to a register of words have loops of their own (`scaling_short.h`)."""

import numpy as np
import pytest

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters
from reranker.transport.solve import MOST_SHORT_WORDS as MOST
from tests.transport.conftest import distances, unit_rows

# Below, at and above one register and one block of float32 and of float64.
LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 118)


def some_of(n_terms: int, n: int, seed: int) -> WeightedBag:
    random = np.random.default_rng([seed, n])
    weights = random.random(n) + 0.05
    return WeightedBag(np.sort(random.choice(n_terms, n, replace=False)).astype(np.int32), weights / weights.sum())


@pytest.mark.parametrize("n_words", range(1, MOST + 2))
@pytest.mark.parametrize(
    ("method", "parameters", "tolerance"),
    [
        ("sinkhorn", Parameters(stop_at=0), 2e-6),
        ("sinkhorn", Parameters(0.02, stop_at=0), 1e-11),
        ("sinkhorn", Parameters(stop_at=1e-3, over_relaxed=True), 2e-6),
        ("relaxed", Parameters(stop_at=0), 2e-6),
        ("relaxed", Parameters(n_iterations=1, tau=0.0), 2e-6),
        ("relaxed", Parameters(tau=0.3, stop_at=0), 2e-6),
        ("auto", Parameters(stop_at=0), 2e-6),
    ],
)
def test_documents_of_any_length_have_the_distances_of_the_reference(n_words, method, parameters, tolerance):
    rows = unit_rows(300, 33)
    query = some_of(300, n_words, 1)
    documents = WeightedBags.join([some_of(300, m, 2) for m in LENGTHS])
    expected = distances(query, documents, rows, method, parameters, implementation="reference")
    found = distances(query, documents, rows, method, parameters, n_threads=2)
    if parameters.over_relaxed:  # float32 may stop an iteration earlier or later
        tolerance = 1e-3
    np.testing.assert_allclose(found.values, expected.values, atol=tolerance)
    np.testing.assert_allclose(found.marginal_error, expected.marginal_error, atol=max(tolerance, 1e-5))


@pytest.mark.parametrize("n_words", [1, 5, MOST])
def test_a_sum_that_float32_cannot_hold_is_solved_in_the_log_domain(n_words):
    """A weight of 1e-37 beside weights of 1: scalings leave the range of float32."""
    rows = unit_rows(60, 20)
    query = some_of(60, n_words, 4)
    b = np.ones(40)
    b[3] = 1e-37
    document = WeightedBag(np.arange(20, 60, dtype=np.int32), b / b.sum())
    wanted = Parameters(0.03, stop_at=0)
    expected = distances(query, WeightedBags.join([document]), rows, "sinkhorn", wanted, implementation="reference")
    found = distances(query, WeightedBags.join([document]), rows, "sinkhorn", wanted)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-6)
    assert np.isfinite(found.marginal_error).all()


def test_company_changes_no_distance_of_a_short_query():
    rows, query = unit_rows(300, 33), some_of(300, 5, 6)
    bags = [some_of(300, m, 7) for m in LENGTHS]
    together = distances(query, WeightedBags.join(bags), rows, "auto", n_threads=2).values
    alone = [float(distances(query, WeightedBags.join([one]), rows, "auto").values[0]) for one in bags]
    np.testing.assert_array_equal(together, alone)
