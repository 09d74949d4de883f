"""The nearest terms of a language against a sort of all cosines."""

import numpy as np
import pytest

from reranker.translation.nearest_terms import nearest_terms


def unit_rows(n, dim=8):
    rows = np.random.default_rng(0).normal(size=(n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def ids(*bounds):
    return np.arange(*bounds, dtype=np.int32)


@pytest.mark.parametrize("n_rows", [3, 16, 100])
@pytest.mark.parametrize("step", [1, 2])
def test_the_nearest_terms_are_those_of_a_sort_of_all_cosines(n_rows, step):
    rows, terms, words = unit_rows(n_rows + 10), ids(1, n_rows, step), ids(n_rows, n_rows + 10)
    found, cosines = nearest_terms(rows, terms, words, 4, chunk_terms=7, chunk_words=3)
    expected = rows[words] @ rows[terms].T
    order = np.argsort(-expected, axis=1)[:, :4]
    assert np.array_equal(found, terms[order])
    assert cosines == pytest.approx(np.take_along_axis(expected, order, axis=1), abs=1e-6)


def test_a_page_of_words_is_compared_as_exactly_as_one():
    rows = unit_rows(400, dim=32)
    _, cosines = nearest_terms(rows, ids(200), ids(200, 400), 1)
    assert cosines[:, 0] == pytest.approx((rows[200:] @ rows[:200].T).max(axis=1), abs=1e-6)


def test_equal_cosines_are_in_the_order_of_term_ids():
    rows = np.repeat(unit_rows(1), 6, axis=0)
    found, _ = nearest_terms(rows, ids(6), ids(1), 6)
    assert found.tolist() == [[0, 1, 2, 3, 4, 5]]


def test_no_terms_and_no_words_give_nothing():
    rows = unit_rows(5)
    assert nearest_terms(rows, ids(0), ids(5), 3)[0].shape == (5, 0)
    assert nearest_terms(rows, ids(5), ids(0), 3)[0].shape == (0, 3)
