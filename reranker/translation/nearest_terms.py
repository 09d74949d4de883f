"""Finds the terms of one language that are nearest to given vectors, in one pass over the language's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows and vectors that are compared at once, 40 MB together at 300 dimensions.
_CHUNK_ROWS = 16_384
_CHUNK_VECTORS = 64


class LanguageRows:
    """The embeddings of one language's terms, or of some of them.

    Args:
        rows: (n_terms, dim) of the store, each of length 1; an array or `CompactRows`.
        term_ids: (n,) terms to search, ascending.
    """

    def __init__(self, rows: Any, term_ids: NDArray[np.integer[Any]]) -> None:
        self._rows = rows
        self._term_ids = np.asarray(term_ids, dtype=np.int32)

    def nearest(self, vectors: NDArray[np.float32], n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Finds the `n` terms with the highest cosine to each vector; fewer if there are no more.

        Args:
            vectors: (k, dim), each of length 1.

        Returns:
            Term ids (k, n) and their cosines (k, n), the nearest first; equal cosines by term id.
        """
        blocks = [
            self._nearest_of_block(vectors[start : start + _CHUNK_VECTORS], n)
            for start in range(0, len(vectors), _CHUNK_VECTORS)
        ]
        n_found = min(n, len(self._term_ids))
        if not blocks:
            return np.empty((0, n_found), np.int32), np.empty((0, n_found), np.float32)
        return np.concatenate([ids for ids, _ in blocks]), np.concatenate([cosines for _, cosines in blocks])

    def _nearest_of_block(self, vectors: NDArray[np.float32], n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        best_ids = np.empty((len(vectors), 0), dtype=np.int32)
        best = np.empty((len(vectors), 0), dtype=np.float32)
        for start in range(0, len(self._term_ids), _CHUNK_ROWS):
            term_ids = self._term_ids[start : start + _CHUNK_ROWS]
            cosines = vectors @ self._chunk(term_ids).T
            kept = _largest(cosines, n)
            best_ids = np.concatenate([best_ids, term_ids[kept]], axis=1)
            best = np.concatenate([best, np.take_along_axis(cosines, kept, axis=1)], axis=1)
            kept = _largest(best, n)
            best_ids, best = np.take_along_axis(best_ids, kept, axis=1), np.take_along_axis(best, kept, axis=1)
        order = np.lexsort((best_ids, -best), axis=1)
        return np.take_along_axis(best_ids, order, axis=1), np.take_along_axis(best, order, axis=1)

    def _chunk(self, term_ids: NDArray[np.int32]) -> NDArray[np.float32]:
        first, last = int(term_ids[0]), int(term_ids[-1])
        if last - first + 1 == len(term_ids):  # consecutive rows, which a memory map returns without a copy
            chunk: NDArray[np.float32] = self._rows[first : last + 1]
            return chunk
        picked: NDArray[np.float32] = self._rows[term_ids]
        return picked


def _largest(values: NDArray[np.float32], n: int) -> NDArray[np.intp]:
    """(k, n) the columns of each row's n largest values, unordered; all columns if there are no more."""
    if values.shape[1] <= n:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(values, values.shape[1] - n, axis=1)[:, values.shape[1] - n :]
