"""A race solves the best of a few iterations to the end, and says that it did."""

import numpy as np
import pytest

from reranker.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances, nearest_documents
from reranker.transport.races import FINALISTS, HEAT_ITERATIONS

ITERATED = ["sinkhorn", "relaxed", "auto"]


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(200)])


@pytest.mark.parametrize("method", ITERATED)
def test_the_finalists_are_the_best_of_five_iterations_and_have_the_distances_of_all(
    table, random_bag, documents, method
):
    query = random_bag(19)
    heat = distances(query, documents, table, method, Parameters(n_iterations=HEAT_ITERATIONS)).values
    whole = distances(query, documents, table, method).values
    found = nearest_documents(query, documents, table, 200, method, race=True)
    assert found.raced
    assert found.n_solved == FINALISTS == 64
    assert set(found.order[:64].tolist()) == set(np.argsort(heat, kind="stable")[:64].tolist())
    np.testing.assert_array_equal(found.distances.values[:64], whole[found.order[:64]])


@pytest.mark.parametrize("method", ITERATED)
def test_those_left_out_stand_behind_the_finalists_in_the_order_of_their_few_iterations(
    table, random_bag, documents, method
):
    query = random_bag(19)
    heat = distances(query, documents, table, method, Parameters(n_iterations=HEAT_ITERATIONS)).values
    found = nearest_documents(query, documents, table, 200, method, race=True)
    values = found.distances.values
    assert sorted(found.order.tolist()) == list(range(200))
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(values[64:], np.maximum(np.sort(heat)[64:], values[63]), rtol=1e-15)


def test_candidates_without_a_known_word_are_last_after_a_race(table, random_bag):
    nothing = WeightedBag(np.empty(0, np.int32), np.empty(0))
    bags = [random_bag(5) for _ in range(80)]
    found = nearest_documents(random_bag(9), WeightedBags.join([nothing, *bags, nothing]), table, 82, race=True)
    assert found.raced
    assert found.order[-2:].tolist() == [0, 81]
    assert np.isfinite(found.distances.values[:-2]).all()
    few = nearest_documents(random_bag(9), WeightedBags.join([nothing] * 70 + bags[:3]), table, 73, race=True)
    assert set(few.order[:3].tolist()) == {70, 71, 72}


@pytest.mark.parametrize(
    ("method", "n", "parameters"),
    [
        ("emd", 200, Parameters()),
        ("nbow", 200, Parameters()),
        ("rwmd", 200, Parameters()),
        ("sinkhorn", 64, Parameters()),
        ("sinkhorn", 200, Parameters(n_iterations=5)),
    ],
)
def test_where_a_race_saves_nothing_all_is_certain_and_it_is_said(table, random_bag, documents, method, n, parameters):
    query, few = random_bag(19), WeightedBags.join([documents[k] for k in range(n)])
    found = nearest_documents(query, few, table, 10, method, parameters, race=True)
    assert not found.raced
    whole = distances(query, few, table, method, parameters).values
    np.testing.assert_array_equal(found.distances.values, np.sort(whole)[:10])


def test_no_race_is_run_that_was_not_asked_for(table, random_bag, documents):
    assert not nearest_documents(random_bag(19), documents, table, 10, "sinkhorn").raced
