"""Turns counts of terms in aligned units into vectors: positive pointwise mutual information, then a truncated SVD."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ingest.embeddings.summary import Progress, no_progress

# Halko, Martinsson and Tropp 2011 advise 5 to 10 more columns than asked for, and a few power iterations where the
# singular values fall slowly, as they do here.
_N_POWER_ITERATIONS = 4
_OVERSAMPLING = 10
# Directions below this share of the largest singular value are rounding, not language.
_RELATIVE_RANK = 1e-5
_GRAM_ROWS = 16_384


def ppmi(presence: sparse.csr_matrix) -> sparse.csr_matrix:
    """The positive pointwise mutual information of terms and units of one language.

    With p a share of all pairs it is max(0, log(p(term, unit) / (p(term) · p(unit)))) (Levy and Goldberg 2014).
    As each pair counts once here, this is max(0, log(n_pairs / (units of the term · terms of the unit))).

    Args:
        presence: (n_terms, n_units), 1 where the unit holds the term.

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

    Randomised (Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1); exact where the matrix is about as small as
    what is asked for. The same seed gives the same result.

    Returns:
        (n_rows, k) and (k,), k at most `dim` and at most the rank.
    """
    n_columns = dim + _OVERSAMPLING
    if min(matrix.shape) <= n_columns:
        left, values, _ = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], n_columns), dtype=np.float32)
        for step in range(_N_POWER_ITERATIONS):
            progress(step, _N_POWER_ITERATIONS + 1, "factorising")
            basis = _orthonormal(matrix.T @ _orthonormal(matrix @ basis))
        progress(_N_POWER_ITERATIONS, _N_POWER_ITERATIONS + 1, "factorising")
        # Twice, for columns that the first pass leaves a little askew.
        basis = _orthonormal(_orthonormal(matrix @ basis))
        squares, turn = np.linalg.eigh(_gram(matrix.T @ basis))
        values = np.sqrt(np.maximum(squares[::-1], 0))
        left = basis @ turn[:, ::-1].astype(np.float32)
    kept = min(dim, int((values > _RELATIVE_RANK * values[0]).sum())) if values[0] > 0 else 0
    progress(1, 1, "factorised")
    return left[:, :kept].astype(np.float32), values[:kept].astype(np.float32)


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Orthonormal columns of the same span, but for directions that are rounding.

    By the eigenvectors of the columns' products: this is all matrix products, while a QR decomposition of a tall matrix
    waits for its threads at every column (154 s against 22 in one training, on two busy cores).
    """
    squares, turn = np.linalg.eigh(_gram(columns))
    kept = squares > _RELATIVE_RANK**2 * squares[-1]
    orthonormal: NDArray[np.float32] = columns @ (turn[:, kept] / np.sqrt(squares[kept])).astype(np.float32)
    return orthonormal


def _gram(columns: NDArray[np.float32]) -> NDArray[np.float64]:
    """(k, k) products of columns with each other; in double, as they are squares, and some rows at a time."""
    products = np.zeros((columns.shape[1], columns.shape[1]))
    for start in range(0, len(columns), _GRAM_ROWS):
        rows = columns[start : start + _GRAM_ROWS].astype(np.float64)
        products += rows.T @ rows
    return products


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows at length 1; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)
