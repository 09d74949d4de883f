"""Costs are computed once, and any of the candidates are solved from them, as if they came alone."""

import numpy as np
import pytest

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, batch, distances
from reranker.transport.batch import GroundCosts
from reranker.transport.problem import checked_candidates, checked_query
from tests.transport.conftest import bag, exact_cost

WAYS = [("rwmd", 0.1), ("sinkhorn", 0.1), ("relaxed", 0.1), ("sinkhorn", 0.02), ("sinkhorn", 0.001)]


@pytest.fixture
def documents(random_bag):
    nothing = WeightedBag(np.empty(0, np.int32), np.empty(0))
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(30)] + [nothing] + [random_bag(200)])


@pytest.fixture
def made(monkeypatch):
    """How many terms each table of costs was made for."""
    sizes = []

    def counted(query, terms, *rest):
        sizes.append(len(terms))
        return make(query, terms, *rest)

    make = batch.cost_table
    monkeypatch.setattr(batch, "cost_table", counted)
    return sizes


@pytest.mark.parametrize("table_bytes", [10_000, 2**25])
@pytest.mark.parametrize(("method", "epsilon"), WAYS)
def test_some_candidates_have_the_distances_they_have_among_all(
    table, random_bag, documents, method, epsilon, table_bytes, monkeypatch
):
    monkeypatch.setattr(batch, "TABLE_BYTES", table_bytes)
    query, parameters = random_bag(19), Parameters(epsilon, 20)
    whole = distances(query, documents, table, method, parameters)
    precision = batch.table_precision(method, parameters)
    costs = GroundCosts(
        checked_query(query, table), checked_candidates(documents, len(table)), table, precision, n_threads=2
    )
    places = np.array([31, 3, 30, 17, 4])
    some = costs.solve(method, parameters, places)
    np.testing.assert_array_equal(some.values, whole.values[places])
    np.testing.assert_array_equal(some.marginal_error, whole.marginal_error[places])
    assert some.values[2] == np.inf
    assert some.precision == whole.precision


def test_no_place_gives_no_distance(table, random_bag, documents):
    costs = GroundCosts(random_bag(5), documents, table)
    nothing = np.empty(0, np.int64)
    assert len(costs.solve("sinkhorn", Parameters(), nothing).values) == 0
    assert len(costs.nearest_words(nothing).from_query) == 0


def test_costs_are_computed_once_for_all_that_is_solved(table, random_bag, documents, made):
    costs = GroundCosts(random_bag(9), documents, table)
    costs.nearest_words()
    costs.solve("sinkhorn", Parameters(n_iterations=5))
    costs.solve("sinkhorn", Parameters(epsilon=0.05), np.array([3, 4]))
    costs.solve_all([("relaxed", Parameters(tau=0.0)), ("rwmd", Parameters())])
    assert len(made) == 1


def test_both_parts_of_auto_are_solved_from_one_table(table, random_bag, documents, made, monkeypatch):
    distances(random_bag(20), documents, table, "auto")
    assert len(made) == 1
    monkeypatch.setattr(batch, "TABLE_BYTES", 30_000)
    made.clear()
    distances(random_bag(20), documents, table, "auto")
    assert len(made) == len(list(batch._chunks(documents, 400, 32 * 4))) > 1


def test_the_bounds_are_the_cost_of_each_word_s_nearest_word(table, random_bag, documents):
    query = random_bag(19)
    found = GroundCosts(query, documents, table, "float64").nearest_words()
    for place in range(len(documents)):
        document = documents[place]
        if not len(document):
            assert found.from_query[place] == found.to_document[place] == np.inf
            continue
        cost = exact_cost(query, document, table)
        np.testing.assert_allclose(found.from_query[place], query.weights @ cost.min(axis=1), atol=1e-12)
        np.testing.assert_allclose(found.to_document[place], document.weights @ cost.min(axis=0), atol=1e-12)


def test_a_kernel_of_another_epsilon_is_not_used(table):
    query, documents = bag([0, 1], [0.5, 0.5]), WeightedBags.join([bag([2, 3], [0.3, 0.7])])
    costs = GroundCosts(query, documents, table)
    for epsilon in (0.1, 1.0, 0.1):
        expected = distances(query, documents, table, "sinkhorn", Parameters(epsilon)).values
        np.testing.assert_array_equal(costs.solve("sinkhorn", Parameters(epsilon)).values, expected)
