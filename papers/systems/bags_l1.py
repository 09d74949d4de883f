"""Distances between normalised bags of words, without embeddings: what transport has to be compared with (Sato et al.
2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from papers.systems.protocol import Matrix
from papers.systems.term_counts import idf, scaled, term_counts, vocabulary


class BagsL1:
    """The L1 distance between bags of words whose weights sum to 1: tf, or tf·idf (Sato et al. 2022, section 4).

    Args:
        documents, queries: their terms; a query's term that no document has counts in the sum of its weights.
    """

    def __init__(self, documents: Sequence[Sequence[str]], queries: Sequence[Sequence[str]], is_idf: bool) -> None:
        self._columns = vocabulary([*documents, *queries])
        counts = term_counts(documents, self._columns)
        self._factors = idf(counts) if is_idf else np.ones(counts.shape[1])
        weights = scaled(counts, self._factors)
        sums = np.asarray(weights.sum(axis=1)).ravel()
        weights.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(weights.indptr))
        self._documents = weights

    def distances(self, query: Sequence[str], rows: NDArray[np.intp]) -> Matrix:
        """(n_rows,) from 0 to 2, to these documents; 2 without a common term."""
        asked = scaled(term_counts([query], self._columns), self._factors)
        dense = np.zeros(len(self._columns))
        dense[asked.indices] = asked.data / (asked.data.sum() or 1.0)
        found = self._documents[rows]
        # Of weights that sum to 1, |a - b| sums to 2 - 2 · Σ min(a, b).
        shared = np.minimum(found.data, dense[found.indices])
        row_of = np.repeat(np.arange(len(rows)), np.diff(found.indptr))
        return np.asarray(2.0 - 2.0 * np.bincount(row_of, shared, len(rows)), dtype=np.float64)
