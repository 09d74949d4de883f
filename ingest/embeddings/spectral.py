"""Turns counts of terms in aligned units into vectors: positive pointwise mutual information, then a truncated SVD."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ingest.progress import Progress, no_progress
from reranker.base.extras import extra

with extra("prepare", "training embeddings"):
    from scipy import linalg, sparse

# Halko, Martinsson and Tropp 2011 advise 5 to 10 additional columns, and a few power iterations if the singular values
# fall slowly, as they do here.
_N_POWER_ITERATIONS = 4
_OVERSAMPLING = 10
# Directions below this share of the largest singular value are rounding errors.
_RELATIVE_RANK = 1e-5


def ppmi(presence: sparse.csr_matrix) -> sparse.csr_matrix:
    """The positive pointwise mutual information of terms and units of one language.

    It is max(0, log(p(term, unit) / (p(term) · p(unit)))), where p is a share of all pairs (Levy and Goldberg 2014).
    Each pair counts once here, so this is max(0, log(n_pairs / (units of the term · terms of the unit))).

    Args:
        presence: (n_terms, n_units), 1 if the unit contains the term.

    >>> print(ppmi(sparse.csr_matrix(np.array([[1, 1], [0, 1]]))).toarray().round(3))
    [[0.405 0.   ]
     [0.    0.405]]
    """
    term_units = np.diff(presence.indptr)
    unit_terms = np.bincount(presence.indices, minlength=presence.shape[1])
    information = presence.copy()
    rows = np.repeat(np.arange(presence.shape[0]), term_units)
    expected = term_units[rows].astype(np.float64) * unit_terms[presence.indices]
    information.data = np.maximum(0.0, np.log(presence.nnz / expected)).astype(np.float32)
    information.eliminate_zeros()
    return information


def truncated_svd(
    matrix: sparse.csr_matrix, dim: int, seed: int, progress: Progress = no_progress
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The left singular vectors and the singular values of a sparse matrix, the largest first.

    The algorithm is randomised (Halko, Martinsson and Tropp 2011), and exact if the matrix is hardly larger than `dim`.
    The same seed gives the same result.

    Returns:
        (n_rows, k) and (k,), k at most `dim` and at most the rank.
    """
    progress(0, None, "factorising")
    if min(matrix.shape) <= dim + _OVERSAMPLING:
        left, values, _ = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        left, values = _randomised_svd(matrix, dim + _OVERSAMPLING, seed)
    kept = min(dim, int((values > _RELATIVE_RANK * values[0]).sum())) if values[0] > 0 else 0
    progress(1, 1, "factorised")
    return left[:, :kept].astype(np.float32), values[:kept].astype(np.float32)


def _randomised_svd(
    matrix: sparse.csr_matrix, size: int, seed: int
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """The left singular vectors (n_rows, size) and singular values of the matrix within the span of a sample of it.

    The sample is the product with random vectors after power iterations (algorithms 4.4 and 5.1 of Halko, Martinsson
    and Tropp 2011). LU instead of QR between the products is cheaper and as stable (Li et al. 2017).
    """
    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix
    random = np.random.RandomState(seed)
    basis = random.normal(size=(tall.shape[1], size)).astype(matrix.dtype)
    for _ in range(_N_POWER_ITERATIONS):
        basis, _upper = linalg.lu(tall @ basis, permute_l=True, check_finite=False)
        basis, _upper = linalg.lu(tall.T @ basis, permute_l=True, check_finite=False)
    basis, _upper = linalg.qr(tall @ basis, mode="economic", check_finite=False)
    left, values, right = linalg.svd(basis.T @ tall, full_matrices=False, check_finite=False)
    return _signed(right.T if wide else basis @ left), values


def _signed(vectors: NDArray[np.floating]) -> NDArray[np.floating]:
    """The columns, with signs that make the entry of largest absolute value positive, since SVD leaves the sign
    open."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1, 1).astype(vectors.dtype)


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows normalised to length 1. A row of zeros stays zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)
