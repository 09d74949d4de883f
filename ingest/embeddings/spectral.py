"""Turns counts of terms in aligned units into vectors: positive pointwise mutual information, then a truncated SVD."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.sparse_rows import SparseRows
from ingest.progress import Progress, no_progress

# Halko, Martinsson and Tropp 2011 advise 5 to 10 additional columns, and a few power iterations if the singular values
# fall slowly, as they do here.
_N_POWER_ITERATIONS = 4
_OVERSAMPLING = 10
# Directions below this share of the largest singular value are rounding errors.
_RELATIVE_RANK = 1e-5
# Of float64; below it a product of columns is a rounding error.
_LEAST_PRODUCT = 1e-14
_BLOCK_ROWS = 8_192


def ppmi(presence: SparseRows) -> SparseRows:
    """The positive pointwise mutual information of terms and units of one language.

    It is max(0, log(p(term, unit) / (p(term) · p(unit)))), where p is a share of all pairs (Levy and Goldberg 2014).
    Each pair counts once here, so this is max(0, log(n_pairs / (units of the term · terms of the unit))).

    Args:
        presence: (n_terms, n_units), 1 if the unit contains the term.

    >>> print(ppmi(SparseRows.of_ones(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))).dense().round(3))
    [[0.405 0.   ]
     [0.    0.405]]
    """
    unit_terms = np.bincount(presence.columns, minlength=presence.n_columns)
    expected = presence.n_values_of_rows[presence.rows].astype(np.float64) * unit_terms[presence.columns]
    information = np.maximum(0.0, np.log(len(presence.values) / expected)).astype(np.float32)
    return presence.with_values(information)


def truncated_svd(
    matrix: SparseRows, dim: int, seed: int, progress: Progress = no_progress
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The left singular vectors and the singular values of a sparse matrix, the largest first.

    The algorithm is randomised (Halko, Martinsson and Tropp 2011), and exact if the matrix is hardly larger than `dim`.
    The same seed gives the same result.

    Returns:
        (n_rows, k) and (k,), k at most `dim` and at most the rank.
    """
    progress(0, None, "factorising")
    if min(matrix.n_rows, matrix.n_columns) <= dim + _OVERSAMPLING:
        left, values, _ = np.linalg.svd(matrix.dense(), full_matrices=False)
    else:
        left, values = _randomised_svd(matrix, dim + _OVERSAMPLING, seed)
    rank = min(dim, int((values > _RELATIVE_RANK * values[0]).sum())) if values[0] > 0 else 0
    progress(1, 1, "factorised")
    return left[:, :rank].astype(np.float32), values[:rank].astype(np.float32)


def _randomised_svd(matrix: SparseRows, size: int, seed: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """The left singular vectors (n_rows, size) and singular values of the matrix within the span of a sample of it.

    The sample is the product with random vectors after power iterations (algorithms 4.4 and 5.1 of Halko, Martinsson
    and Tropp 2011).
    """
    tall, flat = matrix, matrix.transposed()
    wide = matrix.n_rows < matrix.n_columns
    if wide:
        tall, flat = flat, tall
    random = np.random.RandomState(seed)
    basis = random.normal(size=(tall.n_columns, size)).astype(np.float32)
    for _ in range(_N_POWER_ITERATIONS):
        basis = _orthonormal(tall @ basis)
        basis = _orthonormal(flat @ basis)
    # Twice, since one step in float32 leaves angles that grow with the condition of the matrix.
    basis = _orthonormal(_orthonormal(tall @ basis))
    left, values, right = np.linalg.svd((flat @ basis).T, full_matrices=False)
    return _signed(right.T if wide else basis @ left), values


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Orthonormal columns of the same span, by the products of the columns (`CholeskyQR`, Yamamoto et al. 2015, with
    eigenvectors in place of the factor, so that dependent columns are no error): a fifth of the time of QR."""
    products = sum(block.T @ block for block in _blocks(columns))
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, max(values[-1] * _LEAST_PRODUCT, np.finfo(np.float64).tiny))
    return np.asarray(columns @ (vectors / np.sqrt(values)).astype(np.float32), dtype=np.float32)


def _blocks(rows: NDArray[np.float32]) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield rows[start : start + _BLOCK_ROWS].astype(np.float64)


def _signed(vectors: NDArray[np.floating]) -> NDArray[np.floating]:
    """The columns, with signs that make the entry of largest absolute value positive, since SVD leaves the sign
    open."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1, 1).astype(vectors.dtype)


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows normalised to length 1. A row of zeros stays zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)
