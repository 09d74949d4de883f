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
        self._n_queries, self._n_nearest = len(queries), n_nearest
        self._width = width(len(queries))
        filled = np.zeros((self._width, queries.shape[1]), np.float32)
        filled[: len(queries)] = queries
        self._panel = loops.lay_out_words(filled)

    def hubness(self, means: NDArray[np.float32]) -> NDArray[np.float64]:
        """The mean cosine of each document to its nearest queries, (n_documents,), 0 to 1; it does not depend on which
        documents are beside it.

        Args:
            means: (n_documents, dim) mean embeddings, of length 1 or 0.
        """
        found = np.empty(len(means))
        rows = np.ascontiguousarray(means, np.float32)
        loops.mean_nearest_products(
            rows, len(rows), rows.shape[1], self._panel, self._width, self._n_queries, self._n_nearest, found
        )
        return np.clip(found, 0.0, 1.0)
