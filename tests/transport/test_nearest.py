"""The nearest k are those of solving all, and few others are solved."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.base.errors import BadEmbeddings, BadInput, EmptyQuery, WrongParameter
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import (
    METHODS,
    Parameters,
    candidate_costs,
    distances,
    nearest_documents,
)
from tests.transport.conftest import bag, exact_cost

SOLVED = ("emd", "sinkhorn", "relaxed", "auto")
NOTHING = WeightedBag(np.empty(0, np.int32), np.empty(0))


def best_of_all(query, documents, table, k, method="emd", parameters=Parameters()):
    values = distances(query, documents, table, method, parameters).values
    order = np.argsort(values, kind="stable")[:k]
    return order, values[order]


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(240)] + [NOTHING] + [random_bag(90)])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("k", [1, 5, 240, 241, 242, 1000])
@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_are_those_of_solving_all(table, random_bag, documents, k, method, n_threads):
    query = random_bag(19)
    order, values = best_of_all(query, documents, table, k, method)
    found = nearest_documents(query, documents, table, k, method, n_threads=n_threads)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.distances.values, values)


@pytest.mark.parametrize("method", ["sinkhorn", "relaxed", "auto"])
@pytest.mark.parametrize("parameters", [Parameters(0.02), Parameters(0.001, 5), Parameters(1.0, 1), Parameters(tau=0)])
def test_they_are_at_every_precision_and_after_one_iteration(table, random_bag, documents, method, parameters):
    query = random_bag(19)
    everything = distances(query, documents, table, method, parameters)
    order = np.argsort(everything.values, kind="stable")[:4]
    found = nearest_documents(query, documents, table, 4, method, parameters)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.distances.values, everything.values[order])
    np.testing.assert_array_equal(found.distances.marginal_error, everything.marginal_error[order])
    np.testing.assert_array_equal(found.distances.converged, everything.converged[order])
    assert (found.distances.precision, found.distances.method) == (everything.precision, everything.method)


@pytest.mark.parametrize("method", SOLVED)
def test_they_are_where_tables_do_not_fit_together(table, random_bag, documents, method, monkeypatch):
    monkeypatch.setattr(candidate_costs, "TABLE_BYTES", 60_000)
    query = random_bag(19)
    order, values = best_of_all(query, documents, table, 5, method)
    found = nearest_documents(query, documents, table, 5, method)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.distances.values, values)


def test_exact_distances_are_those_of_pot(table, random_bag, documents):
    query = random_bag(19)
    every = [ot.emd2(query.weights, documents[k].weights, exact_cost(query, documents[k], table)) for k in range(240)]
    found = nearest_documents(query, documents, table, 7, "emd")
    np.testing.assert_allclose(found.distances.values, np.sort(every)[:7], atol=1e-9)


@pytest.mark.parametrize("cost", ["euclidean", "cosine"])
@pytest.mark.parametrize("method", SOLVED)
@pytest.mark.parametrize("size", [1e-3, 0.1, 100.0])
def test_offsets_are_added_before_the_nearest_are_chosen(table, random_bag, documents, method, cost, size):
    query, parameters = random_bag(19), Parameters(n_iterations=5, cost=cost)
    offsets = size * np.random.default_rng(2).standard_normal(len(documents))
    values = distances(query, documents, table, method, parameters).values
    order = np.argsort(values + offsets, kind="stable")[:9]
    found = nearest_documents(query, documents, table, 9, method, parameters, offsets=offsets)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.distances.values, values[order])


@pytest.mark.parametrize(
    ("offsets", "message"),
    [(np.zeros(3), "offsets are of shape"), (np.full(242, np.nan), "an offset is nan"), (np.full(242, np.inf), "inf")],
)
def test_offsets_that_cannot_be_added_are_refused(table, random_bag, documents, offsets, message):
    with pytest.raises(BadInput, match=message):
        nearest_documents(random_bag(3), documents, table, 2, offsets=offsets)


def test_what_cannot_be_among_the_nearest_is_not_solved(circle):
    """One word against one word: bound and distance are the same, so little is solved but the nearest: of 700
    documents the 100 at 60° are the nearest, and the rest at 90° or more."""
    documents = WeightedBags.join([bag([k], [1.0]) for k in (3, 4, 2, 1, 3, 4, 2)] * 100)
    found = nearest_documents(bag([0], [1.0]), documents, circle, 1, "emd")
    assert found.order.tolist() == [3]
    np.testing.assert_allclose(found.distances.values, [1.0], rtol=1e-6)  # the chord of 60°
    assert found.n_solved <= 192


def test_few_exact_transports_are_solved_where_the_nearest_words_tell_little():
    """Texts of the same topics: most have an `rwmd` under the tenth `emd`, and a dual bound above it."""
    random = np.random.default_rng(4)
    rows = random.standard_normal((500, 30)) + 1.5 * random.standard_normal((10, 30))[np.arange(500) % 10]
    table = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    bags = [bag(random.choice(500, 40, replace=False).tolist(), random.dirichlet(np.ones(40))) for _ in range(300)]
    query, documents = bags[0], WeightedBags.join(bags[1:])
    order, values = best_of_all(query, documents, table, 10)
    by_nearest_words = distances(query, documents, table, "rwmd", implementation="reference").values <= values[-1]
    found = nearest_documents(query, documents, table, 10, "emd")
    np.testing.assert_array_equal(found.order, order)
    assert found.n_solved < by_nearest_words.sum() / 3


def test_ties_stand_in_the_order_of_the_candidates(circle):
    """Terms 5 and 6 are one vector; the third of the three equal ones is left out."""
    documents = WeightedBags.join([bag([3], [1.0]), bag([6], [1.0]), bag([5], [1.0]), bag([6], [1.0])])
    found = nearest_documents(bag([0], [1.0]), documents, circle, 2, "emd")
    assert found.order.tolist() == [1, 2]
    assert found.distances.values[0] == found.distances.values[1]


_numbers = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True)


@settings(max_examples=120, deadline=None)
@given(_numbers, st.lists(_numbers, min_size=1, max_size=12), st.integers(1, 6), st.sampled_from(SOLVED))
def test_the_nearest_are_those_of_solving_all_however_many_are_equal(query, documents, k, method):
    """On a circle of seven terms, two of them equal, most distances come several times."""
    angles = np.radians((0, 60, 90, 180, 240, 300, 300))
    circle = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    bags = WeightedBags.join([bag(terms, [1 / len(terms)] * len(terms)) for terms in documents])
    asked = bag(query, [1 / len(query)] * len(query))
    order, values = best_of_all(asked, bags, circle, k, method)
    found = nearest_documents(asked, bags, circle, k, method)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.distances.values, values)


@pytest.mark.parametrize("method", SOLVED)
def test_rows_that_are_not_quite_of_norm_one_do_not_spoil_the_bound(random_bag, table, method):
    """Rounded to half precision: float32 costs, which take norms to be 1, would be off by some 1e-3."""
    coarse = table.astype(np.float16).astype(np.float32) * np.float32(1.004)
    query, documents = random_bag(9), WeightedBags.join([random_bag(9) for _ in range(200)])
    order, values = best_of_all(query, documents, coarse, 5, method)
    found = nearest_documents(query, documents, coarse, 5, method)
    np.testing.assert_array_equal(found.order, order)
    np.testing.assert_array_equal(found.distances.values, values)


@pytest.mark.parametrize("method", METHODS)
def test_candidates_without_a_known_word_come_last(table, random_bag, method):
    documents = WeightedBags.join([NOTHING, random_bag(4), NOTHING])
    found = nearest_documents(random_bag(3), documents, table, 3, method)
    assert found.order.tolist() == [1, 0, 2]
    assert found.distances.values[1:].tolist() == [np.inf, np.inf]
    assert found.distances.converged.all()
    assert found.n_solved == 1


@pytest.mark.parametrize("method", METHODS)
def test_no_candidates_give_nothing(table, random_bag, method):
    found = nearest_documents(random_bag(3), WeightedBags.join([]), table, 10, method)
    assert found.order.shape == found.distances.values.shape == (0,)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"n_threads": 0}])
def test_numbers_below_one_are_refused(table, random_bag, documents, wrong):
    with pytest.raises(WrongParameter, match="is 0; give 1 or more"):
        nearest_documents(random_bag(3), documents, table, **wrong)


@pytest.mark.parametrize("method", SOLVED)
def test_what_distances_refuse_is_refused(table, random_bag, documents, method):
    with pytest.raises(EmptyQuery):
        nearest_documents(NOTHING, documents, table, 3, method)
    with pytest.raises(BadInput, match="did you mean"):
        nearest_documents(random_bag(3), documents, table, 3, method + "x")
    broken = table.copy()
    broken[int(documents.term_ids[-1])] = np.nan
    query = bag([int(next(k for k in range(400) if k != documents.term_ids[-1]))], [1.0])
    with pytest.raises(BadEmbeddings, match="not finite"):
        nearest_documents(query, documents, broken, 3, method)
