"""The balanced plan against POT, which is other people's code, in double precision."""

import numpy as np
import ot
import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import Parameters
from tests.transport.conftest import NOTHING, bag, distances, exact_cost


def pot_distance(query, document, table, epsilon=0.1, n_iterations=50, method="sinkhorn"):
    """POT's distance after exactly `n_iterations`, of a plan whose mass was looked at."""
    options = {"numItermax": n_iterations, "stopThr": 0, "method": method, "warn": False}
    cost = exact_cost(query, document, table)
    plan = ot.sinkhorn(query.weights, document.weights, cost, epsilon, **options)
    assert plan.sum() == pytest.approx(1, abs=1e-9)
    return float(ot.sinkhorn2(query.weights, document.weights, cost, epsilon, **options))


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 60])
def test_fifty_iterations_give_what_they_give_in_pot(table, random_bag, n, implementation):
    query, documents = random_bag(n), [random_bag(k) for k in (1, 2, 3, 4, 5, 30, 127, 300)]
    expected = [pot_distance(query, document, table) for document in documents]
    found = distances(query, WeightedBags.join(documents), table, "sinkhorn", implementation=implementation)
    np.testing.assert_allclose(found.values, expected, rtol=1e-4)


@pytest.mark.parametrize("n_iterations", [1, 2, 7])
def test_the_number_of_iterations_is_kept(table, random_bag, n_iterations, implementation):
    query, document = random_bag(12), random_bag(20)
    expected = pot_distance(query, document, table, 0.05, n_iterations)
    parameters = Parameters(epsilon=0.05, n_iterations=n_iterations)
    found = distances(
        query, WeightedBags.join([document]), table, "sinkhorn", parameters, implementation=implementation
    )
    np.testing.assert_allclose(found.values, [expected], rtol=1e-5)
    assert abs(expected - pot_distance(query, document, table, 0.05, n_iterations + 1)) > 1e-5 * expected


@pytest.mark.parametrize("n_iterations", [1, 3, 50])
def test_the_marginal_error_is_that_of_the_plan(table, random_bag, n_iterations, implementation):
    query, document = random_bag(12), random_bag(20)
    cost = exact_cost(query, document, table)
    plan = ot.sinkhorn(query.weights, document.weights, cost, 0.05, numItermax=n_iterations, stopThr=0, warn=False)
    expected = np.abs(plan.sum(axis=0) - document.weights).sum()
    parameters = Parameters(epsilon=0.05, n_iterations=n_iterations)
    found = distances(
        query, WeightedBags.join([document]), table, "sinkhorn", parameters, implementation=implementation
    )
    np.testing.assert_allclose(found.marginal_error, [expected], rtol=1e-3, atol=2e-6)
    assert found.converged[0] == (expected < 1e-4)


def test_a_solve_that_did_not_converge_says_so_and_returns(table, random_bag, implementation):
    documents = WeightedBags.join([random_bag(60), bag([3], [1.0])])
    found = distances(
        random_bag(30), documents, table, "sinkhorn", Parameters(0.01, n_iterations=5), implementation=implementation
    )
    assert found.converged.tolist() == [False, True]
    assert np.isfinite(found.values).all()


def test_a_word_that_comes_twice_is_one_word_of_both_weights(table, implementation):
    query = bag([1, 2, 3], [0.2, 0.3, 0.5])
    documents = WeightedBags.join([bag([7, 8, 7], [0.25, 0.5, 0.25]), bag([7, 8], [0.5, 0.5])])
    for method in ("rwmd", "emd", "sinkhorn", "relaxed"):
        found = distances(query, documents, table, method, implementation=implementation)
        np.testing.assert_allclose(found.values[0], found.values[1], rtol=1e-5)


def test_a_candidate_without_words_is_at_infinity_and_the_others_keep_their_places(table, random_bag, implementation):
    query, document = random_bag(4), random_bag(6)
    for method in ("nbow", "rwmd", "emd", "sinkhorn", "relaxed"):
        alone = distances(query, WeightedBags.join([document]), table, method, implementation=implementation)
        documents = WeightedBags.join([NOTHING, document, NOTHING, NOTHING])
        found = distances(query, documents, table, method, n_threads=2, implementation=implementation)
        assert found.values.tolist() == [np.inf, alone.values[0], np.inf, np.inf]
        assert found.converged.all()
        only = distances(query, WeightedBags.join([NOTHING]), table, method, implementation=implementation)
        assert only.values.tolist() == [np.inf]


def test_no_candidates_give_no_distances(table, random_bag, implementation):
    for method in ("nbow", "rwmd", "emd", "sinkhorn", "relaxed"):
        found = distances(random_bag(4), WeightedBags.join([]), table, method, implementation=implementation)
        assert found.values.shape == found.converged.shape == found.marginal_error.shape == (0,)
