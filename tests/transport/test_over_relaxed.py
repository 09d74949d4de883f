"""Stopping rules and over-relaxed updates: another way to the same plan."""

import numpy as np
import ot
import pytest

from reranker.base.errors import BadInput
from reranker.text.bags import WeightedBags
from reranker.transport import Parameters, transport
from tests.transport.conftest import bag, distances, exact_cost
from tests.transport.test_sinkhorn import pot_distance

FAST = Parameters(stop_at=1e-3, over_relaxed=True)
# What a query of 128 words and more has by default.
OF_LONG_QUERIES = Parameters(stop_at=1e-4, over_relaxed=True)


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(k) for k in (1, 2, 5, 16, 17, 60, 200)])


def converged(query, documents, table, epsilon=0.1, method="sinkhorn"):
    found = distances(query, documents, table, method, Parameters(epsilon, 10_000), implementation="reference")
    assert (found.marginal_error < 1e-8).all()
    return found.values


@pytest.mark.parametrize("epsilon", [0.1, 0.05, 0.02])
@pytest.mark.parametrize("method", ["sinkhorn", "relaxed"])
def test_over_relaxed_updates_have_the_same_limit(table, random_bag, documents, method, epsilon, implementation):
    query = random_bag(23)
    parameters = Parameters(epsilon, 3000, over_relaxed=True)
    found = distances(query, documents, table, method, parameters, implementation=implementation)
    np.testing.assert_allclose(found.values, converged(query, documents, table, epsilon, method), atol=5e-6)
    assert found.converged.all()


@pytest.mark.parametrize("epsilon", [0.1, 0.02, 0.002])
@pytest.mark.parametrize("stop_at", [1e-2, 1e-3])
@pytest.mark.parametrize("over_relaxed", [False, True])
def test_a_solve_that_stopped_keeps_the_marginals_as_asked(
    table, random_bag, documents, epsilon, stop_at, over_relaxed, implementation
):
    parameters = Parameters(epsilon, 10_000, stop_at=stop_at, over_relaxed=over_relaxed)
    found = distances(random_bag(23), documents, table, "sinkhorn", parameters, implementation=implementation)
    assert (found.marginal_error <= stop_at * (1 + 1e-3) + 2e-6).all()
    assert found.converged.all()


def test_the_fast_way_is_within_a_thousandth_of_fifty_iterations(table, random_bag, documents, implementation):
    for n in (1, 7, 30, 100):
        query = random_bag(n)
        fifty = [pot_distance(query, documents[k], table) for k in range(len(documents))]
        found = distances(query, documents, table, "sinkhorn", FAST, implementation=implementation)
        np.testing.assert_allclose(found.values, fifty, atol=1e-3)


def pot_limit(query, document, table, epsilon):
    """POT's distance once its plan has the marginals to 1e-9."""
    cost = exact_cost(query, document, table)
    plan = ot.sinkhorn(query.weights, document.weights, cost, epsilon, numItermax=20_000, stopThr=1e-9)
    assert plan.sum() == pytest.approx(1, abs=1e-8)
    return float((plan * cost).sum())


@pytest.mark.parametrize("epsilon", [0.1, 0.05])
def test_a_long_query_is_by_default_nearer_to_the_limit_than_fifty_plain_iterations(
    table, random_bag, documents, epsilon, implementation
):
    query = random_bag(150)
    limit = np.array([pot_limit(query, documents[k], table, epsilon) for k in range(len(documents))])
    fifty = [pot_distance(query, documents[k], table, epsilon) for k in range(len(documents))]
    found = distances(query, documents, table, "sinkhorn", Parameters(epsilon), implementation=implementation)
    ours, plain = np.abs(found.values - limit), np.abs(fifty - limit)
    assert ours.max() < plain.max()
    assert ours.mean() < plain.mean()


@pytest.mark.parametrize("method", ["sinkhorn", "relaxed", "auto"])
def test_queries_of_128_words_and_more_are_over_relaxed_unless_told_when_to_stop(
    table, random_bag, documents, method, implementation
):
    for n, by_default in ((127, Parameters()), (128, OF_LONG_QUERIES)):
        query = random_bag(n)

        def solved(parameters, query=query):
            return distances(query, documents, table, method, parameters, implementation=implementation)

        np.testing.assert_array_equal(solved(Parameters()).values, solved(by_default).values)
    plain, over_relaxed = solved(Parameters(stop_at=1e-6)), solved(Parameters())
    assert not np.array_equal(plain.values, over_relaxed.values)
    np.testing.assert_allclose(plain.values, over_relaxed.values, atol=1e-3)


@pytest.mark.parametrize("method", ["sinkhorn", "relaxed", "auto"])
def test_a_long_query_is_explained_as_it_is_ranked(table, random_bag, documents, method):
    query = random_bag(150)
    ranked = distances(query, documents, table, method).values
    explained = [transport(query, documents[k], table, method).distance for k in range(len(documents))]
    np.testing.assert_allclose(explained, ranked, atol=2e-5)


@pytest.mark.parametrize("epsilon", [0.1, 0.02, 0.002])
@pytest.mark.parametrize("method", ["sinkhorn", "relaxed"])
@pytest.mark.parametrize("n_iterations", [1, 2, 3, 4, 20])
def test_compiled_and_reference_take_the_same_steps(table, random_bag, documents, epsilon, method, n_iterations):
    query, parameters = random_bag(19), Parameters(epsilon, n_iterations, stop_at=0, over_relaxed=True)
    slow = distances(query, documents, table, method, parameters, implementation="reference")
    fast = distances(query, documents, table, method, parameters)
    np.testing.assert_allclose(fast.values, slow.values, atol=5e-6)
    np.testing.assert_allclose(fast.marginal_error, slow.marginal_error, atol=1e-4)


def test_with_stop_at_zero_every_iteration_is_done(table, random_bag, implementation):
    """Long after the default would have stopped at 1e-6, as float64 shows."""
    query, document = random_bag(5), random_bag(6)
    expected = pot_distance(query, document, table, 0.02, 700)
    early, late = (
        distances(
            query,
            WeightedBags.join([document]),
            table,
            "sinkhorn",
            Parameters(0.02, 700, stop_at=stop_at),
            implementation=implementation,
        )
        for stop_at in (1e-2, 0)
    )
    assert late.values[0] == pytest.approx(expected, rel=1e-9)
    assert late.marginal_error[0] < 1e-11 < early.marginal_error[0]


@pytest.mark.parametrize("stop_at", [-1e-9, 1.1, np.nan, np.inf])
def test_a_stop_out_of_range_is_refused(stop_at):
    with pytest.raises(BadInput, match=r"stop_at is .*; give a marginal error from 0"):
        Parameters(stop_at=stop_at)


@pytest.mark.parametrize(("epsilon", "seed"), [(0.003, 162), (0.001, 5)])
def test_a_solve_does_not_follow_rounding_where_mass_can_hardly_move(epsilon, seed):
    """The marginal error stays the same for many iterations but for its last digit, which must not choose the way."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((60, 20))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    w, v = random.random(12) + 0.05, random.random(20) + 0.05
    query = bag(list(range(12)), (w / w.sum()).tolist())
    documents = WeightedBags.join([bag(list(range(20, 40)), (v / v.sum()).tolist())])
    order = random.permutation(12)
    turned = bag(query.term_ids[order].tolist(), query.weights[order].tolist())
    parameters = Parameters(epsilon, 50, over_relaxed=True)
    expected = distances(query, documents, rows, "sinkhorn", parameters, implementation="reference").values
    for one in (query, turned):
        found = distances(one, documents, rows, "sinkhorn", parameters).values
        np.testing.assert_allclose(found, expected, atol=1e-9)
