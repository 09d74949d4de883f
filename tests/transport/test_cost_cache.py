"""Costs that are kept give the same distances bit for bit, take no more room than allowed, and are never another's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import METHODS, Parameters, candidate_costs, distances
from reranker.transport.cost_cache import CostCache


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(20)])


@pytest.fixture
def n_made(monkeypatch):
    """How many tables of costs were computed."""
    made = []

    def counted(*arguments):
        made.append(arguments)
        return make(*arguments)

    make = candidate_costs.cost_table
    monkeypatch.setattr(candidate_costs, "cost_table", counted)
    return lambda: len(made)


@pytest.mark.parametrize("epsilon", [0.1, 0.02, 0.001])
@pytest.mark.parametrize("method", METHODS)
def test_kept_costs_give_the_same_distances_bit_for_bit(table, random_bag, documents, method, epsilon):
    query, cache, parameters = random_bag(19), CostCache(), Parameters(epsilon, 20)
    expected = distances(query, documents, table, method, parameters)
    for _ in range(3):
        found = distances(query, documents, table, method, parameters, cost_cache=cache)
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.marginal_error, expected.marginal_error)


def test_another_epsilon_tau_or_method_of_the_same_precision_needs_no_new_costs(table, random_bag, documents, n_made):
    query, cache = random_bag(19), CostCache()
    for parameters in (Parameters(0.1), Parameters(0.2), Parameters(0.1, tau=0.3)):
        for method in ("sinkhorn", "relaxed", "rwmd"):
            distances(query, documents, table, method, parameters, cost_cache=cache)
    assert n_made() == 1
    distances(query, documents, table, "sinkhorn", Parameters(0.02), cost_cache=cache)  # float64
    assert n_made() == 2


def test_each_ground_cost_is_kept_apart(table, random_bag, documents, n_made):
    query, cache = random_bag(19), CostCache()
    for _ in range(2):
        for parameters in (Parameters(cost="euclidean"), Parameters(cost="cosine")):
            expected = distances(query, documents, table, "sinkhorn", parameters, implementation="reference")
            found = distances(query, documents, table, "sinkhorn", parameters, cost_cache=cache)
            np.testing.assert_allclose(found.values, expected.values, atol=1e-5)
    distances(query, documents, table, "auto", cost_cache=cache)
    assert n_made() == 2


def test_another_query_other_candidates_or_other_embeddings_are_not_taken_for_these(table, random_bag, documents):
    cache, query, other = CostCache(), random_bag(19), random_bag(19)
    fewer = WeightedBags.join([documents[k] for k in range(10)])
    for embeddings in (table, table[::-1].copy(), table.astype(np.float16)):
        for words in (query, other):
            for candidates in (documents, fewer):
                expected = distances(words, candidates, embeddings, "sinkhorn").values
                found = distances(words, candidates, embeddings, "sinkhorn", cost_cache=cache).values
                np.testing.assert_array_equal(found, expected)


def test_it_holds_no_more_than_its_limit_and_the_least_recently_used_go_first(n_made, table):
    cost = np.zeros((10, 16), np.float32)
    queries = [np.array([k], np.int32) for k in range(4)]
    terms = np.arange(10, dtype=np.int32)
    each = cost.nbytes + 4 + terms.nbytes
    cache = CostCache(3 * each)
    for query in queries[:3]:
        cache.put(table, query, terms, "float32", cost)
    assert cache.get(table, queries[0], terms, "float32") is cost
    cache.put(table, queries[3], terms, "float32", cost)
    held = [cache.get(table, query, terms, "float32") is not None for query in queries]
    assert held == [True, False, True, True]
    assert cache.n_bytes == 3 * each
    cache.put(table, queries[3], terms, "float32", cost)  # once more
    assert cache.n_bytes == 3 * each
    cache.put(table, queries[1], terms, "float32", np.zeros((1000, 16), np.float32))  # too large for it
    assert cache.n_bytes == 3 * each


def test_many_threads_may_share_one(table, random_bag, documents):
    queries = [random_bag(5 + k) for k in range(6)]
    expected = [distances(query, documents, table, "sinkhorn").values for query in queries]
    cache = CostCache(4 * 400 * 16 * 4)  # room for some of them: they push each other out

    def ask(k: int) -> np.ndarray:
        return distances(queries[k % 6], documents, table, "sinkhorn", n_threads=2, cost_cache=cache).values

    with ThreadPoolExecutor(8) as pool:
        for k, found in enumerate(pool.map(ask, range(60))):
            np.testing.assert_array_equal(found, expected[k % 6])
    assert cache.n_bytes <= cache.limit_bytes
