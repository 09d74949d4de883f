"""Sparse matrices of the training, beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ingest.embeddings.sparse_rows import SparseRows


def both(n_rows: int, n_columns: int, density: float) -> tuple[SparseRows, sparse.csr_matrix]:
    random = np.random.RandomState(7)
    theirs = sparse.random(n_rows, n_columns, density, "csr", np.float32, random, lambda n: random.uniform(0.1, 1, n))
    return SparseRows(theirs.data, theirs.indices, theirs.indptr.astype(np.int64), n_columns), theirs


SHAPES = [(50, 30, 0.2), (3, 40, 0.5), (40, 3, 0.1), (1, 1, 1.0), (5, 5, 0.0)]


@pytest.mark.parametrize("shape", SHAPES)
def test_products_with_it_and_its_transpose_are_those_of_scipy(shape: tuple[int, int, float]) -> None:
    ours, theirs = both(*shape)
    random = np.random.default_rng(1)
    right, left = (random.standard_normal((n, 17)).astype(np.float32) for n in (shape[1], shape[0]))
    assert ours @ right == pytest.approx(theirs @ right, rel=1e-5, abs=1e-6)
    assert ours.transposed() @ left == pytest.approx(theirs.T @ left, rel=1e-5, abs=1e-6)
    assert np.array_equal(ours.dense(), theirs.toarray())


@pytest.mark.parametrize("shape", SHAPES)
def test_similar_rows_are_those_whose_product_is_at_least_the_limit(shape: tuple[int, int, float]) -> None:
    ours, theirs = both(*shape)
    dense = np.random.default_rng(2).standard_normal((shape[0], 5)).astype(np.float32)
    similarity = (theirs @ theirs.T).toarray()
    np.fill_diagonal(similarity, 0)
    similarity[similarity < 0.6] = 0
    assert ours.similar_times(dense, 0.6) == pytest.approx(similarity @ dense, rel=1e-5, abs=1e-5)
