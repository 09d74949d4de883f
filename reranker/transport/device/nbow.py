"""Turns pairs of a query and a document into 1 - cosine of their weighted mean embeddings, on a device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBags
from reranker.transport.device.devices import Array, slices
from reranker.transport.device.embeddings import DeviceEmbeddings
from reranker.transport.device.pairs import Pairs, batches
from reranker.transport.device.tables import padded
from reranker.transport.problem import VANISHING_NORM


def solve(embeddings: DeviceEmbeddings, pairs: Pairs, max_bytes: int) -> NDArray[np.float64]:
    """The distance of each pair; 1 where a mean is 0 and has no angle."""
    xp, device = embeddings.device.xp, embeddings.device
    dim = embeddings.rows.shape[1]
    queries, query = _directions(embeddings, pairs.queries, pairs.query, max_bytes)
    documents, document = _directions(embeddings, pairs.documents, pairs.document, max_bytes)
    values = np.empty(len(pairs.query))
    step = max(max_bytes // (3 * 4 * dim), 1)
    for part in slices(len(values), step):
        x = xp.take(queries, device.put(query[part]), axis=0)
        y = xp.take(documents, device.put(document[part]), axis=0)
        values[part] = 1 - device.fetch(xp.sum(x * y, axis=1)).astype(np.float64)
    return np.maximum(values, 0)


def _directions(
    embeddings: DeviceEmbeddings, bags: WeightedBags, wanted: NDArray[np.int64], max_bytes: int
) -> tuple[Array, NDArray[np.int64]]:
    """The weighted mean embeddings of the wanted bags, of length 1 or 0, and the row of each wanted one."""
    xp, device = embeddings.device.xp, embeddings.device
    places, row = np.unique(wanted, return_inverse=True)
    dim = embeddings.rows.shape[1]
    means = []
    order = []
    for batch in batches(np.diff(bags.offsets)[places], dim, max_bytes // 8):
        term_ids, weights = padded(bags, places[batch])
        rows = xp.reshape(xp.take(embeddings.rows, device.put(term_ids.ravel()), axis=0), (*term_ids.shape, dim))
        means.append(xp.matmul(device.put(weights.astype(np.float32))[:, None, :], rows)[:, 0, :])
        order.append(batch)
    every = xp.concat(means)
    norms = xp.sqrt(xp.sum(every * every, axis=1))[:, None]
    where = np.argsort(np.concatenate(order))
    return every / xp.where(norms > VANISHING_NORM, norms, xp.inf), where[row]
