"""Finds the terms of one language that are nearest to given words, in one pass over the language's embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.cost_table import cost_table

# Terms and words that are compared at once, 4 MB of cosines together. More words would be compared in fixed point
# (`reranker.transport.fixed_point`).
_CHUNK_TERMS = 16_384
_CHUNK_WORDS = 64


def nearest_terms(
    embeddings: NDArray[np.float32],
    term_ids: NDArray[np.int32],
    words: NDArray[np.int32],
    n: int,
    *,
    chunk_terms: int = _CHUNK_TERMS,
    chunk_words: int = _CHUNK_WORDS,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Finds the `n` terms with the highest cosine to each word; fewer if there are no more.

    Args:
        embeddings: (n_terms, dim), each of length 1.
        term_ids: (m,) terms to search, ascending.
        words: (k,) term ids.
        chunk_terms, chunk_words: how many are compared at once.

    Returns:
        Term ids (k, n) and their cosines (k, n), the nearest first; equal cosines by term id.
    """
    blocks = [
        _nearest_of_block(embeddings, term_ids, words[start : start + chunk_words], n, chunk_terms)
        for start in range(0, len(words), chunk_words)
    ]
    n_found = min(n, len(term_ids))
    if not blocks:
        return np.empty((0, n_found), np.int32), np.empty((0, n_found), np.float32)
    return np.concatenate([ids for ids, _ in blocks]), np.concatenate([cosines for _, cosines in blocks])


def _nearest_of_block(
    embeddings: NDArray[np.float32], term_ids: NDArray[np.int32], words: NDArray[np.int32], n: int, chunk_terms: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    ids = np.empty((len(words), 0), dtype=np.int32)
    costs = np.empty((len(words), 0), dtype=np.float32)
    for start in range(0, len(term_ids), chunk_terms):
        chunk = term_ids[start : start + chunk_terms]
        # NumPy's matrix product would copy the embeddings, and its threads wait busily for more work.
        found = cost_table(words, chunk, embeddings, np.dtype(np.float32), n_threads=1, ground_cost="cosine")
        of_chunk = np.ascontiguousarray(found[:, : len(words)].T)
        if costs.shape[1] == n:  # few terms of a later chunk are nearer than all of the nearest before it
            is_nearer = (of_chunk < costs.max(axis=1, keepdims=True)).any(axis=0)
            chunk, of_chunk = chunk[is_nearer], of_chunk[:, is_nearer]
        ids = np.concatenate([ids, np.broadcast_to(chunk, of_chunk.shape)], axis=1)
        costs = np.concatenate([costs, of_chunk], axis=1)
        if costs.shape[1] > n:
            nearest = np.argpartition(costs, n, axis=1)[:, :n]
            ids, costs = np.take_along_axis(ids, nearest, axis=1), np.take_along_axis(costs, nearest, axis=1)
    order = np.lexsort((ids, costs), axis=1)
    return np.take_along_axis(ids, order, axis=1), 1 - np.take_along_axis(costs, order, axis=1)
