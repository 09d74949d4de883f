"""The nearest terms of a language against a sort of all cosines."""

import numpy as np
import pytest

from reranker.translation.nearest_terms import nearest_terms


def unit_rows(n, dim=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("n_rows", [3, 16, 100])
@pytest.mark.parametrize("step", [1, 2])
def test_the_nearest_terms_are_those_of_a_sort_of_all_cosines(n_rows, step):
    rows, vectors = unit_rows(n_rows), unit_rows(10, seed=1)
    term_ids = np.arange(1, n_rows, step)
    ids, cosines = nearest_terms(rows, term_ids, vectors, 4, chunk_rows=7, chunk_vectors=3)
    expected = vectors @ rows[term_ids].T
    order = np.argsort(-expected, axis=1)[:, :4]
    assert np.array_equal(ids, term_ids[order])
    assert cosines == pytest.approx(np.take_along_axis(expected, order, axis=1), abs=1e-6)


def test_equal_cosines_are_in_the_order_of_term_ids():
    rows = np.repeat(unit_rows(1), 6, axis=0)
    ids, _ = nearest_terms(rows, np.arange(6), rows[:1], 6)
    assert ids.tolist() == [[0, 1, 2, 3, 4, 5]]


def test_no_terms_and_no_vectors_give_nothing():
    rows = unit_rows(5)
    assert nearest_terms(rows, np.arange(0), rows, 3)[0].shape == (5, 0)
    assert nearest_terms(rows, np.arange(5), rows[:0], 3)[0].shape == (0, 3)
