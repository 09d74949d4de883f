"""Turns the words of some queries and the terms of their documents into a table of costs on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBags
from reranker.transport.cost import CLOSE_COST
from reranker.transport.device.devices import Array, slices
from reranker.transport.device.embeddings import DeviceEmbeddings
from reranker.transport.device.pairs import Places


def padded(bags: WeightedBags, places: Places) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Term ids and weights of some bags, both (k, longest): filled up with the first word of each, without weight.

    A word that is there already changes no minimum, and no sum without its weight: nothing has to be masked.
    """
    starts, lengths = bags.offsets[places], np.diff(bags.offsets)[places]
    column = np.arange(lengths.max())[None, :]
    real = column < lengths[:, None]
    words = starts[:, None] + np.where(real, column, 0)
    return bags.term_ids[words].astype(np.int64), np.where(real, bags.weights[words], 0.0)


def cost_table(
    embeddings: DeviceEmbeddings,
    terms: NDArray[np.int32],
    query_ids: NDArray[np.int64],
    dtype: Any,
    ground_cost: str,
    max_bytes: int,
) -> Array:
    """Ground costs (n_terms · n_queries, n) of document terms to query words; row t · n_queries + q is of term t and
    query q.

    In float32 the rows are taken to be of norm 1; in float64 their norms are computed, as in `transport.tables`.

    Args:
        terms: (n_terms,) document terms.
        query_ids: (n_queries, n) terms of the queries' words.
        dtype: float32 or float64 of the device.
        ground_cost: one of `problem.COSTS`.
        max_bytes: of what is computed on the way; the table itself comes to it.
    """
    xp, n_columns = embeddings.device.xp, query_ids.size
    queries = _rows(embeddings, query_ids.ravel(), dtype)
    table = xp.empty((len(terms), n_columns), dtype=dtype, device=embeddings.device.place)
    # On the way there are the embeddings of a block of terms, its products, and copies of these.
    step = max(max_bytes // ((embeddings.rows.shape[1] + 4 * n_columns) * 8), 1)
    for part in slices(len(terms), step):
        table[part, :] = _costs(xp, _rows(embeddings, terms[part], dtype), queries, ground_cost, step)
    return xp.reshape(table, (len(terms) * len(query_ids), query_ids.shape[1]))


def _rows(embeddings: DeviceEmbeddings, term_ids: NDArray[Any], dtype: Any) -> Array:
    xp = embeddings.device.xp
    rows = xp.take(embeddings.rows, embeddings.device.put(term_ids.astype(np.int64)), axis=0)
    return xp.astype(rows, dtype, copy=False)


def _costs(xp: Any, rows: Array, queries: Array, ground_cost: str, n_at_once: int) -> Array:
    """The root or the half of max(0, ‖x‖² + ‖y‖² - 2 <x, y>), which is taken from x - y where its root is below
    `CLOSE_COST`."""
    products = xp.matmul(rows, xp.matrix_transpose(queries))
    if rows.dtype == xp.float32:
        squared = 2.0 - 2.0 * products
    else:
        squared = xp.sum(rows * rows, axis=1)[:, None] + xp.sum(queries * queries, axis=1)[None, :] - 2.0 * products
    close = squared < CLOSE_COST**2
    row, column = xp.nonzero(close)
    if row.shape[0]:
        found = []
        for part in slices(row.shape[0], n_at_once):
            difference = xp.take(rows, row[part], axis=0) - xp.take(queries, column[part], axis=0)
            found.append(xp.sum(difference * difference, axis=1))
        squared[close] = xp.concat(found)
    return xp.sqrt(squared) if ground_cost == "euclidean" else squared / 2
