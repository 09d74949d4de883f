"""Says how near documents lie to the nearest queries of a sample, by the cosine of their mean embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.native import transport as loops
from reranker.transport.cost_table import width


class QuerySample:
    """The mean embeddings of some queries; safe to share between threads.

    Args:
        queries: (n_queries, dim) float32, of length 1; at least `n_nearest`.
    """

    def __init__(self, queries: NDArray[np.float32], n_nearest: int) -> None:
        self._queries = queries
        self._n_nearest = n_nearest
        self._panel: NDArray[np.float32] | None = None

    def mean_cosines(self, means: NDArray[np.float32]) -> NDArray[np.float64]:
        """The mean cosine of each document to its nearest queries, (n_documents,); it does not depend on which
        documents are beside it.

        Args:
            means: (n_documents, dim) mean embeddings, of length 1 or 0.
        """
        n_queries, dim = self._queries.shape
        panel = self._panel
        if panel is None:
            filled = np.zeros((width(n_queries), dim), np.float32)
            filled[:n_queries] = self._queries
            self._panel = panel = loops.lay_out_words(filled)
        found = np.empty(len(means))
        rows = np.ascontiguousarray(means, np.float32)
        loops.mean_nearest_products(rows, panel, width(n_queries), n_queries, self._n_nearest, found)
        return found
