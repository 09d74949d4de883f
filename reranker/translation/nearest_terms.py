"""Finds the terms of one language that are nearest to given vectors, in one pass over the language's rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows and vectors that are compared at once, 40 MB together at 300 dimensions.
_CHUNK_ROWS = 16_384
_CHUNK_VECTORS = 64


def nearest_terms(
    rows: NDArray[np.float32],
    term_ids: NDArray[np.int32],
    vectors: NDArray[np.float32],
    n: int,
    *,
    chunk_rows: int = _CHUNK_ROWS,
    chunk_vectors: int = _CHUNK_VECTORS,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Finds the `n` terms with the highest cosine to each vector; fewer if there are no more.

    Args:
        rows: (n_terms, dim) the embeddings, each of length 1.
        term_ids: (m,) terms to search, ascending.
        vectors: (k, dim), each of length 1.
        chunk_rows, chunk_vectors: how many are compared at once.

    Returns:
        Term ids (k, n) and their cosines (k, n), the nearest first; equal cosines by term id.
    """
    blocks = [
        _nearest_of_block(rows, term_ids, vectors[start : start + chunk_vectors], n, chunk_rows)
        for start in range(0, len(vectors), chunk_vectors)
    ]
    n_found = min(n, len(term_ids))
    if not blocks:
        return np.empty((0, n_found), np.int32), np.empty((0, n_found), np.float32)
    return np.concatenate([ids for ids, _ in blocks]), np.concatenate([cosines for _, cosines in blocks])


def _nearest_of_block(
    rows: NDArray[np.float32], term_ids: NDArray[np.int32], vectors: NDArray[np.float32], n: int, chunk_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    best_ids = np.empty((len(vectors), 0), dtype=np.int32)
    best = np.empty((len(vectors), 0), dtype=np.float32)
    for start in range(0, len(term_ids), chunk_rows):
        chunk = term_ids[start : start + chunk_rows]
        first, last = int(chunk[0]), int(chunk[-1])
        # A memory map returns consecutive rows without a copy.
        picked = rows[first : last + 1] if last - first + 1 == len(chunk) else rows[chunk]
        cosines = vectors @ picked.T
        largest = _largest(cosines, n)
        best_ids = np.concatenate([best_ids, chunk[largest]], axis=1)
        best = np.concatenate([best, np.take_along_axis(cosines, largest, axis=1)], axis=1)
        largest = _largest(best, n)
        best_ids, best = np.take_along_axis(best_ids, largest, axis=1), np.take_along_axis(best, largest, axis=1)
    order = np.lexsort((best_ids, -best), axis=1)
    return np.take_along_axis(best_ids, order, axis=1), np.take_along_axis(best, order, axis=1)


def _largest(values: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """(k, n) the columns of each row's n largest values, unordered; all columns if there are no more."""
    if values.shape[1] <= n:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, values.shape[1] - n, axis=1)[:, values.shape[1] - n :]
