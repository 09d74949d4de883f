"""The nearest k by `emd` are those of solving all, and few others are solved."""

import numpy as np
import pytest

from reranker.base.errors import BadEmbeddings
from reranker.text.bags import WeightedBags
from reranker.transport import Parameters, candidate_costs
from reranker.transport.problem import checked_problem
from reranker.transport.pruning import nearest_by_emd
from tests.transport.conftest import NOTHING, bag, distances


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(240)] + [NOTHING] + [random_bag(90)])


def nearest(query, documents, table, k, n_threads=1):
    """Places and distances of the nearest, and how many were solved."""
    found, n_solved = nearest_by_emd(checked_problem(query, documents, table), Parameters(), k, n_threads)
    order = np.argsort(found.values, kind="stable")[:k]
    return order, found.values[order], n_solved


def assert_those_of_solving_all(query, documents, table, k, n_threads=1):
    values = distances(query, documents, table, "emd").values
    expected = np.argsort(values, kind="stable")[:k]
    order, found, n_solved = nearest(query, documents, table, k, n_threads)
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(found, values[expected])
    return found[-1], n_solved


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("k", [1, 5, 240])
def test_the_nearest_are_those_of_solving_all(table, random_bag, documents, k, n_threads):
    assert_those_of_solving_all(random_bag(19), documents, table, k, n_threads)


@pytest.mark.parametrize("table_bytes", [1, 60_000])
@pytest.mark.parametrize("k", [1, 5, 200])
def test_they_are_where_the_costs_of_all_do_not_fit(table, random_bag, documents, k, table_bytes, monkeypatch):
    monkeypatch.setattr(candidate_costs, "TABLE_BYTES", table_bytes)
    assert_those_of_solving_all(random_bag(19), documents, table, k)


def test_what_one_half_finds_spares_solves_in_the_other(circle, monkeypatch):
    """The nearest is in the first half: of the second, where all are farther, none is solved."""
    monkeypatch.setattr(candidate_costs, "TABLE_BYTES", 1)
    documents = WeightedBags.join([bag([k], [1.0]) for k in (1, 3, 4, 2)])  # 60°, 180°, 120°, 90°
    order, _, n_solved = nearest(bag([0], [1.0]), documents, circle, 1)
    assert order.tolist() == [0]
    assert n_solved == 1


def test_what_cannot_be_among_the_nearest_is_not_solved(circle):
    """One word against one word: bound and distance are the same, so little is solved but the nearest: of 700
    documents the 100 at 60° are the nearest, and the rest at 90° or more."""
    documents = WeightedBags.join([bag([k], [1.0]) for k in (3, 4, 2, 1, 3, 4, 2)] * 100)
    order, values, n_solved = nearest(bag([0], [1.0]), documents, circle, 1)
    assert order.tolist() == [3]
    np.testing.assert_allclose(values, [1.0], rtol=1e-6)  # the chord of 60°
    assert n_solved <= 192


def test_few_exact_transports_are_solved_where_the_nearest_words_tell_little():
    """Texts of the same topics: most have an `rwmd` under the tenth `emd`, and a dual bound above it."""
    random = np.random.default_rng(4)
    rows = random.standard_normal((500, 30)) + 1.5 * random.standard_normal((10, 30))[np.arange(500) % 10]
    table = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    bags = [bag(random.choice(500, 40, replace=False).tolist(), random.dirichlet(np.ones(40))) for _ in range(300)]
    query, documents = bags[0], WeightedBags.join(bags[1:])
    tenth, n_solved = assert_those_of_solving_all(query, documents, table, 10)
    by_nearest_words = distances(query, documents, table, "rwmd", implementation="reference").values <= tenth
    assert n_solved < by_nearest_words.sum() / 3


def test_rows_that_are_not_quite_of_norm_one_do_not_spoil_the_bound(random_bag, table):
    """Rounded to half precision: float32 costs, which take norms to be 1, would be off by some 1e-3."""
    coarse = table.astype(np.float16).astype(np.float32) * np.float32(1.004)
    documents = WeightedBags.join([random_bag(9) for _ in range(200)])
    assert_those_of_solving_all(random_bag(9), documents, coarse, 5)


def test_an_embedding_that_is_not_finite_is_named(table, documents):
    broken = table.copy()
    broken[int(documents.term_ids[-1])] = np.nan
    query = bag([int(next(k for k in range(400) if k != documents.term_ids[-1]))], [1.0])
    with pytest.raises(BadEmbeddings, match="not finite"):
        nearest(query, documents, broken, 3)
