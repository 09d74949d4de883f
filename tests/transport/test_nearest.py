"""Prefetch and prune finds what solving all of them finds."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.bags import WeightedBag, WeightedBags
from reranker.errors import BadInput, EmptyQuery
from reranker.transport import distances, nearest_by_emd
from tests.transport.conftest import bag


def best_of_all(query, documents, table, k):
    values = distances(query, documents, table, "emd").values
    order = np.argsort(values, kind="stable")[:k]
    return order, values[order]


@pytest.fixture
def documents(random_bag):
    nothing = WeightedBag(np.empty(0, np.int32), np.empty(0))
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(60)] + [nothing] + [random_bag(90)])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(("k", "prefetch"), [(1, None), (5, None), (5, 1), (5, 40), (62, None), (1000, None)])
def test_the_nearest_are_those_of_solving_all(table, random_bag, documents, k, prefetch, n_threads):
    query = random_bag(19)
    order, values = best_of_all(query, documents, table, k)
    found = nearest_by_emd(query, documents, table, k, prefetch, n_threads)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.values, values)


def test_what_cannot_be_among_the_nearest_is_not_solved(circle):
    """One word against one word: bound and distance are the same, so the nearest takes one solve of seven."""
    documents = WeightedBags.join([bag([k], [1.0]) for k in (3, 4, 2, 1, 3, 4)])
    found = nearest_by_emd(bag([0], [1.0]), documents, circle, k=1)
    assert found.order.tolist() == [3]  # the chord of 60° is 1
    np.testing.assert_allclose(found.values, [1.0], rtol=1e-6)
    assert found.n_solved == 1


def test_few_of_many_are_solved_where_topics_differ(random_bag):
    """300 documents, of which 12 are of the query's half of the circle of words."""
    random = np.random.default_rng(4)
    rows = random.standard_normal((400, 30)) + 3 * np.where(np.arange(400)[:, None] < 200, 1, -1)
    table = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    near = [bag(random.choice(200, 9, replace=False).tolist(), [1 / 9] * 9) for _ in range(12)]
    far = [bag((200 + random.choice(200, 9, replace=False)).tolist(), [1 / 9] * 9) for _ in range(288)]
    documents = WeightedBags.join(far + near)
    found = nearest_by_emd(near[0], documents, table, k=10)
    assert found.n_solved <= 20
    np.testing.assert_array_equal(found.order, best_of_all(near[0], documents, table, 10)[0])


def test_ties_stand_in_the_order_of_the_candidates(circle):
    """Terms 5 and 6 are one vector; the third of the three equal ones is left out."""
    documents = WeightedBags.join([bag([3], [1.0]), bag([6], [1.0]), bag([5], [1.0]), bag([6], [1.0])])
    found = nearest_by_emd(bag([0], [1.0]), documents, circle, k=2)
    assert found.order.tolist() == [1, 2]
    assert found.values[0] == found.values[1]


_numbers = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)


@settings(max_examples=80, deadline=None)
@given(_numbers, st.lists(_numbers, min_size=1, max_size=12), st.integers(1, 6))
def test_the_nearest_are_those_of_solving_all_however_many_are_equal(query, documents, k):
    """On a circle of seven terms, two of them equal, most distances come several times."""
    angles = np.radians((0, 60, 90, 180, 240, 300, 300))
    circle = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    bags = WeightedBags.join([bag(terms, [1 / len(terms)] * len(terms)) for terms in documents])
    asked = bag(query, [1 / len(query)] * len(query))
    order, values = best_of_all(asked, bags, circle, k)
    found = nearest_by_emd(asked, bags, circle, k)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.values, values)


def test_rows_that_are_not_quite_of_norm_one_do_not_spoil_the_bound(random_bag, table):
    """Half precision: float32 costs, which take norms to be 1, would be off by some 1e-3."""
    coarse = table.astype(np.float16).astype(np.float32) * np.float32(1.004)
    query, documents = random_bag(9), WeightedBags.join([random_bag(9) for _ in range(80)])
    order, values = best_of_all(query, documents, coarse, 5)
    found = nearest_by_emd(query, documents, coarse, 5)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.values, values)


def test_candidates_without_a_known_word_come_last(table, random_bag):
    nothing = WeightedBag(np.empty(0, np.int32), np.empty(0))
    found = nearest_by_emd(random_bag(3), WeightedBags.join([nothing, random_bag(4), nothing]), table, k=3)
    assert found.order.tolist() == [1, 0, 2]
    assert found.values[1:].tolist() == [np.inf, np.inf]
    assert found.n_solved == 1


def test_no_candidates_give_nothing(table, random_bag):
    found = nearest_by_emd(random_bag(3), WeightedBags.join([]), table)
    assert found.order.shape == found.values.shape == (0,)


def test_without_numba_the_nearest_are_the_same(table, random_bag, documents, monkeypatch):
    query = random_bag(9)
    expected = nearest_by_emd(query, documents, table, 4)
    monkeypatch.delattr("reranker.transport.batch")
    monkeypatch.setitem(sys.modules, "reranker.transport.batch", None)
    found = nearest_by_emd(query, documents, table, 4)
    np.testing.assert_array_equal(found.order, expected.order)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"prefetch": 0}, {"n_threads": 0}])
def test_numbers_below_one_are_refused(table, random_bag, documents, wrong):
    with pytest.raises(BadInput, match="is 0; give 1 or more"):
        nearest_by_emd(random_bag(3), documents, table, **wrong)


def test_an_empty_query_is_refused(table, documents):
    with pytest.raises(EmptyQuery):
        nearest_by_emd(WeightedBag(np.empty(0, np.int32), np.empty(0)), documents, table)
