"""Says how near documents lie to the nearest queries of a sample, by the cosine of their mean embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport import compilation
from reranker.transport.threads import one_blas_thread


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
        """The mean cosine of each document to its nearest queries, (n_documents,). Once the compiled loops are ready,
        it does not depend on which documents are beside it.

        Args:
            means: (n_documents, dim) mean embeddings, of length 1 or 0.
        """
        if not compilation.is_ready():
            with one_blas_thread():
                cosines = means @ self._queries.T
            nearest = np.partition(cosines, len(self._queries) - self._n_nearest, axis=1)[:, -self._n_nearest :]
            return np.asarray(nearest.mean(axis=1, dtype=np.float64))
        from reranker.transport.cost_table import width  # Numba takes a second to import
        from reranker.transport.kernels import products
        from reranker.transport.kernels.nearest_means import mean_products

        n_queries, dim = self._queries.shape
        panel = self._panel
        if panel is None:
            filled = np.zeros((width(n_queries), dim), np.float32)
            filled[:n_queries] = self._queries
            self._panel = panel = products.strips(filled)
        row_ids = np.arange(len(means) + 2 * products.N_TERMS, dtype=np.int32).clip(max=max(len(means) - 1, 0))
        found = np.empty(len(means))
        rows = np.require(np.asarray(means), np.float32, ["C", "W"])  # one type for every array: one compilation
        mean_products(rows, row_ids, panel, width(n_queries), n_queries, self._n_nearest, found)
        return found
