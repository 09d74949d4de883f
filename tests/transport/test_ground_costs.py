"""Costs are computed once, and any of the candidates are solved from them, as if they came alone."""

import numpy as np
import pytest

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, candidate_costs, distances
from reranker.transport.candidate_costs import CandidateCosts
from reranker.transport.problem import checked_problem
from reranker.transport.solve import solve_from, table_precision
from tests.transport.conftest import bag, exact_cost

WAYS = [("rwmd", 0.1), ("sinkhorn", 0.1), ("relaxed", 0.1), ("sinkhorn", 0.02), ("sinkhorn", 0.001)]


@pytest.fixture
def documents(random_bag):
    nothing = WeightedBag(np.empty(0, np.int32), np.empty(0))
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(30)] + [nothing] + [random_bag(200)])


@pytest.mark.parametrize("table_bytes", [10_000, 2**25])
@pytest.mark.parametrize(("method", "epsilon"), WAYS)
def test_some_candidates_have_the_distances_they_have_among_all(
    table, random_bag, documents, method, epsilon, table_bytes, monkeypatch
):
    monkeypatch.setattr(candidate_costs, "TABLE_BYTES", table_bytes)
    query, parameters = random_bag(19), Parameters(epsilon, 20)
    whole = distances(query, documents, table, method, parameters)
    precision = table_precision(method, parameters)
    costs = CandidateCosts(checked_problem(query, documents, table), precision, n_threads=2)
    places = np.array([31, 3, 30, 17, 4])
    (some,) = solve_from(costs, [(method, parameters)], places)
    np.testing.assert_array_equal(some.values, whole.values[places])
    np.testing.assert_array_equal(some.marginal_error, whole.marginal_error[places])
    assert some.values[2] == np.inf
    assert some.precision == whole.precision


def test_no_place_gives_no_distance(table, random_bag, documents):
    costs = CandidateCosts(checked_problem(random_bag(5), documents, table))
    nothing = np.empty(0, np.int64)
    for method in ("sinkhorn", "rwmd", "nbow"):
        assert len(solve_from(costs, [(method, Parameters())], nothing)[0].values) == 0


def test_rwmd_is_the_larger_cost_of_each_word_s_nearest_word(table, random_bag, documents):
    query = random_bag(19)
    costs = CandidateCosts(checked_problem(query, documents, table), "float64")
    (found,) = solve_from(costs, [("rwmd", Parameters())])
    for place in range(len(documents)):
        document = documents[place]
        if not len(document):
            assert found.values[place] == np.inf
            continue
        cost = exact_cost(query, document, table)
        expected = max(query.weights @ cost.min(axis=1), document.weights @ cost.min(axis=0))
        np.testing.assert_allclose(found.values[place], expected, atol=1e-12)


def test_a_kernel_of_another_epsilon_is_not_used(table):
    query, documents = bag([0, 1], [0.5, 0.5]), WeightedBags.join([bag([2, 3], [0.3, 0.7])])
    costs = CandidateCosts(checked_problem(query, documents, table))
    for epsilon in (0.1, 1.0, 0.1):
        expected = distances(query, documents, table, "sinkhorn", Parameters(epsilon)).values
        np.testing.assert_array_equal(solve_from(costs, [("sinkhorn", Parameters(epsilon))])[0].values, expected)
