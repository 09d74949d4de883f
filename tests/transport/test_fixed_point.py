"""Products of long queries by 16-bit integers: rounding is all that they lose."""

import numpy as np
import pytest

from reranker.base.errors import BadEmbeddings
from reranker.native.transport import HAS_FIXED_POINT
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, fixed_point
from reranker.transport.cost_table import cost_table
from tests.transport.conftest import distances, exact_cost, unit_rows

LONG = fixed_point.LEAST_WORDS

pytestmark = pytest.mark.skipif(not HAS_FIXED_POINT, reason="this processor has no AVX2")


def spread_bag(first: int, n: int) -> WeightedBag:
    weights = np.random.default_rng(n).random(n) + 0.05
    return WeightedBag(np.arange(first, first + n, dtype=np.int32), weights / weights.sum())


def cosine_costs(rows: np.ndarray, n_words: int, terms: np.ndarray, n_threads: int = 2) -> np.ndarray:
    words = np.arange(n_words, dtype=np.int32)
    return cost_table(words, terms, rows, np.dtype(np.float32), n_threads, "cosine")[:, :n_words]


@pytest.mark.parametrize("dim", [16, 17, 31, 32, 100, 300, 301])
@pytest.mark.parametrize("n_words", [LONG, LONG + 13, 305])
def test_the_products_are_those_of_the_rounded_vectors(dim, n_words):
    """As whole numbers, by NumPy: to the last digit of float32, whatever the order of the sums."""
    rows = unit_rows(n_words + 50, dim)
    terms = np.arange(n_words, n_words + 50, dtype=np.int32)
    whole = np.rint(rows * np.float32(32767)).astype(np.int64)
    norms = np.linalg.norm(whole, axis=1)
    expected = 1 - whole[terms] @ whole[:n_words].T / (norms[terms, None] * norms[:n_words])
    found = cosine_costs(rows, n_words, terms)
    far = expected > fixed_point.CLOSE_COST**2 / 2 + 1e-3
    assert far.mean() > 0.9
    np.testing.assert_allclose(found[far], expected[far], atol=3e-7)


@pytest.mark.parametrize("ground_cost", ["euclidean", "cosine"])
def test_near_vectors_have_a_cost_as_exact_as_far_ones(ground_cost):
    """From copies to vectors 1.2 apart: below a cost of 0.6 from the difference."""
    rows = unit_rows(LONG + 60, 300)
    for k, share in enumerate(np.linspace(0, 0.7, 60)):
        mixed = rows[k] + share * (rows[LONG + k] - rows[k])
        rows[LONG + k] = mixed / np.linalg.norm(mixed)
    query, document = spread_bag(0, LONG), spread_bag(LONG, 60)
    found = cost_table(query.term_ids, document.term_ids, rows, np.dtype(np.float32), 1, ground_cost)[:, :LONG].T
    chord = exact_cost(query, document, rows)
    np.testing.assert_allclose(found, chord if ground_cost == "euclidean" else chord**2 / 2, atol=1.2e-4)
    near = chord < 0.55
    assert near.sum() >= 20
    expected = chord[near] if ground_cost == "euclidean" else chord[near] ** 2 / 2
    np.testing.assert_allclose(found[near], expected, atol=1e-6)


def test_the_largest_products_do_not_overflow():
    """Rows with all their weight in one dimension, in two halves, and spread evenly; the same and the opposite."""
    dim = 64
    one, half, even = np.zeros(dim), np.zeros(dim), np.full(dim, dim**-0.5)
    one[7], half[:2] = 1, 0.5**0.5
    kinds = np.array([one, half, even])
    rows = np.repeat(np.concatenate([kinds, -kinds]), LONG, axis=0).astype(np.float32)
    terms = np.arange(0, len(rows), LONG, dtype=np.int32)
    words = np.arange(1, LONG + 1, dtype=np.int32)
    for k, kind in enumerate(kinds):
        shifted = np.roll(rows, -k * LONG, axis=0)
        found = cost_table(words, terms, shifted, np.dtype(np.float32), 1, "cosine")[:, : LONG - 1]
        expected = 1 - np.roll(np.concatenate([kinds, -kinds]), -k, axis=0) @ kind
        np.testing.assert_allclose(found, np.repeat(expected[:, None], LONG - 1, axis=1), atol=5e-7)
        assert (found[0] == 0).all()


@pytest.mark.parametrize("dim", [100, 300])
def test_vectors_whose_values_are_all_rounded_the_same_way_lose_nothing(dim):
    """Signs alone: 1892 in the place of 1891.8 in each of 300 dimensions would make a product of 0.5 one of 0.5001."""
    rows = (np.sign(unit_rows(600, dim)) / np.float64(dim) ** 0.5).astype(np.float32)
    terms = np.arange(300, 600, dtype=np.int32)
    expected = 1 - rows[terms].astype(np.float64) @ rows[:300].astype(np.float64).T
    np.testing.assert_allclose(cosine_costs(rows, 300, terms), expected, atol=5e-7)


def test_a_row_of_zeros_is_at_right_angles_to_all():
    rows = unit_rows(400, 300)
    rows[250] = 0
    assert (cosine_costs(rows, LONG, np.array([250], np.int32)) == 1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("place", [0, 15, 16, 290, 299])
def test_a_value_that_is_not_finite_or_far_too_large_is_found_wherever_it_is(value, place):
    rows = unit_rows(400, 300)
    rows[250, place] = value
    with pytest.raises(BadEmbeddings, match=r"term 250 (is not finite|has norm 1e\+30, not 1)"):
        cosine_costs(rows, LONG, np.arange(200, 400, dtype=np.int32))


def test_a_row_that_nobody_normalised_is_refused():
    """Its products could be larger than the sums can hold."""
    rows = unit_rows(400, 300)
    rows[250] *= 3
    with pytest.raises(BadEmbeddings, match="term 250 has norm 3, not 1; divide each row"):
        cosine_costs(rows, LONG, np.arange(200, 400, dtype=np.int32))


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("rwmd", Parameters()), ("sinkhorn", Parameters(stop_at=0)), ("relaxed", Parameters()), ("auto", Parameters())],
)
def test_the_distances_of_a_long_query_are_those_of_exact_costs(method, parameters):
    rows = unit_rows(2000, 300)
    random = np.random.default_rng(2)
    query = spread_bag(0, 250)
    documents = WeightedBags.join(
        [
            WeightedBag(np.sort(random.choice(2000, n, replace=False)).astype(np.int32), np.full(n, 1 / n))
            for n in (1, 2, 30, 118, 301)
        ]
    )
    expected = distances(query, documents, rows, method, parameters, implementation="reference").values
    for n_threads in (1, 2):
        found = distances(query, documents, rows, method, parameters, n_threads).values
        np.testing.assert_allclose(found, expected, atol=5e-6)
