"""Bounds from the dual are below exact transport, whatever they are made from, and close to it."""

import numpy as np
import ot
import pytest

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters
from reranker.transport.bounds import dual_bounds
from reranker.transport.candidate_costs import CandidateCosts
from reranker.transport.problem import checked_problem
from reranker.transport.solve import solve_from
from tests.transport.conftest import NOTHING, bag, exact_cost


def emd(query, document, table):
    return ot.emd2(query.weights, document.weights, exact_cost(query, document, table))


def bounds_of(query, documents, table, n_threads=1):
    return dual_bounds(costs_of(query, documents, table, n_threads), np.arange(len(documents)))


def costs_of(query, documents, table, n_threads=1, ground_cost="euclidean"):
    problem = checked_problem(query, WeightedBags.join(documents), table)
    return CandidateCosts(problem, "float64", n_threads, ground_cost)


def test_between_single_words_the_bound_is_the_cost(circle):
    """Chords: 60° is 1, 90° is sqrt 2, 180° is 2."""
    found = bounds_of(bag([0], [1.0]), [bag([k], [1.0]) for k in (0, 1, 2, 3)], circle)
    np.testing.assert_allclose(found, [0, 1, 2**0.5, 2], atol=1e-6)


def test_the_bound_sees_weights_that_nearest_words_do_not(circle):
    """Both sides have both words, so `rwmd` is 0; half the mass must go from 0° to 90°, at sqrt 2."""
    query, document = bag([0, 2], [0.75, 0.25]), bag([0, 2], [0.25, 0.75])
    costs = costs_of(query, [document], circle)
    assert solve_from(costs, [("rwmd", Parameters())])[0].values == [0]
    np.testing.assert_allclose(dual_bounds(costs, np.array([0])), [0.5 * 2**0.5], atol=1e-6)


def test_the_bounds_hold_under_the_cosine_cost_too(table, random_bag):
    query, documents = random_bag(25), [random_bag(1 + 5 * k) for k in range(12)]
    cosine = [exact_cost(query, document, table) ** 2 / 2 for document in documents]
    exact = [ot.emd2(query.weights, document.weights, cost) for document, cost in zip(documents, cosine, strict=True)]
    found = dual_bounds(costs_of(query, documents, table, ground_cost="cosine"), np.arange(12))
    assert (found <= np.array(exact) + 1e-12).all()
    assert (found >= 0.95 * np.array(exact)).all()


def test_the_bound_is_within_two_hundredths_of_emd(table, random_bag):
    query, documents = random_bag(40), [random_bag(5 + 9 * k) for k in range(20)]
    exact = np.array([emd(query, document, table) for document in documents])
    found = bounds_of(query, documents, table)
    assert (found <= exact + 1e-12).all()
    assert (found >= 0.98 * exact).all()


def test_a_document_that_float32_cannot_hold_has_a_low_bound_or_none():
    """Opposite words: exp(-2 / 0.025) = 2e-35, times a weight of 1e-6."""
    table = np.array([[1, 0], [-1, 0], [0, 1]], dtype=np.float32)
    query = bag([0, 2], [1 - 1e-6, 1e-6])
    documents = [bag([1], [1.0]), bag([1, 2], [1e-6, 1 - 1e-6]), bag([0, 1], [1e-6, 1 - 1e-6])]
    exact = np.array([emd(query, document, table) for document in documents])
    assert (bounds_of(query, documents, table) <= exact + 1e-12).all()


def test_the_same_text_and_repeated_words_have_a_bound_of_zero_at_most(table, random_bag):
    query = random_bag(30)
    twice = bag([*query.term_ids, *query.term_ids], [*(query.weights / 2), *(query.weights / 2)])
    found = bounds_of(query, [WeightedBag(query.term_ids, query.weights), twice], table)
    assert (found <= 1e-12).all()
    assert (found > -0.01).all()


def test_a_document_without_a_word_has_none(table, random_bag):
    found = bounds_of(random_bag(5), [NOTHING, random_bag(7)], table)
    assert found[0] == -np.inf
    assert found[1] > 0


@pytest.mark.parametrize("n_threads", [1, 3])
def test_any_places_in_any_order_have_their_own_bounds(table, random_bag, n_threads):
    query, documents = random_bag(19), [random_bag(1 + 3 * (k % 11)) for k in range(50)]
    expected = bounds_of(query, documents, table)
    places = np.random.default_rng(0).permutation(50)[:30]
    found = dual_bounds(costs_of(query, documents, table, n_threads), places)
    np.testing.assert_allclose(found, expected[places], atol=1e-12)
