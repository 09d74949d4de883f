"""Turns embeddings into ground costs, in double precision; the batched float32 form is in `cost_table.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.problem import check_rows

# sqrt(2 - 2g) of float32 rows is off by rounding(g) / cost: 1.2e-3 at a cost of 0, 1e-6 from 0.1 on. Below it the
# cost is computed again from the difference; so is the cosine cost of the same pairs.
CLOSE_COST = 0.1


def ground_cost(
    query_ids: NDArray[np.int32],
    document_ids: NDArray[np.int32],
    embeddings: NDArray[np.float32],
    cost: str = "euclidean",
) -> NDArray[np.float64]:
    """What moving mass between the words of two bags costs, (n, m) float64, 0 to 2.

    "euclidean": ‖x_i - y_j‖, which for rows of norm 1 is sqrt(2 - 2 <x_i, y_j>) (Kusner et al. 2015, 2.1).
    "cosine": half its square, which for rows of norm 1 is 1 - <x_i, y_j>.
    Both are 0 for the same term on both sides.

    Raises:
        BadEmbeddings: an embedding is not finite.

    >>> table = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    >>> ground_cost(np.array([0]), np.array([0, 1, 2]), table).round(4)
    array([[0.    , 1.4142, 2.    ]])
    """
    x, y = gathered(query_ids, embeddings), gathered(document_ids, embeddings)
    squared = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None, :] - 2 * (x @ y.T)
    rows, columns = np.nonzero(squared < CLOSE_COST**2)
    squared[rows, columns] = ((x[rows] - y[columns]) ** 2).sum(axis=1)
    squared[np.asarray(query_ids)[:, None] == np.asarray(document_ids)[None, :]] = 0.0
    return np.asarray(np.sqrt(squared) if cost == "euclidean" else squared / 2, dtype=np.float64)


def gathered(term_ids: NDArray[np.int32], embeddings: NDArray[np.float32]) -> NDArray[np.float64]:
    """The embeddings of some terms, (k, dim) float64.

    Raises:
        BadEmbeddings: one of them is not finite.
    """
    rows = np.asarray(embeddings[term_ids], dtype=np.float64)
    check_rows(term_ids, rows)
    return rows
