"""Turns the distinct terms of many documents into a table of costs to the query's words."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from reranker.native import transport as loops
from reranker.transport import fixed_point
from reranker.transport.cost import CLOSE_COST
from reranker.transport.problem import check_terms
from reranker.transport.threads import together, worthwhile

Table = NDArray[np.floating]

_CACHE_LINE_BYTES = 64


def width(n: int) -> int:
    """Columns of a table for n query words: filled up to whole registers of float32."""
    return -(-n // loops.LANES) * loops.LANES


def cost_table(
    words: NDArray[np.int32],
    terms: NDArray[np.int32],
    embeddings: NDArray[np.float32],
    dtype: np.dtype[np.floating],
    n_threads: int,
    ground_cost: str = "euclidean",
) -> Table:
    """Ground costs (k, width) of k document terms to n query words (`parameters.COSTS`); columns from n on are without
    meaning.

    In float32 the rows are taken to be of norm 1, and the products of long queries may be computed in fixed point
    (`fixed_point`); in float64 norms are computed, since float32 rows have them to 1e-7 only, and exp(-cost / 0.003)
    would show it.

    Raises:
        BadEmbeddings: an embedding is not finite, or so far from norm 1 that its products are not.
    """
    n, n_terms = len(words), len(terms)
    query_rows = np.zeros((width(n), embeddings.shape[1]), dtype)
    query_rows[:n] = np.asarray(embeddings[words])
    norms = np.ones(len(query_rows), dtype) if dtype == np.float32 else np.einsum("ij,ij->i", query_rows, query_rows)
    laid_out, factors, close = _laid_out(query_rows, n)
    cost = _aligned(n_terms + loops.TERMS_TOGETHER, len(query_rows), dtype)
    unsound = np.full(1, -1, np.int64)
    if not n_terms:
        return cost[:0]
    padded = np.concatenate([terms, np.full(2 * loops.TERMS_TOGETHER, terms[-1], np.int32)])
    work = partial(
        loops.fill_cost_table[dtype.itemsize], np.zeros(1, np.int64), embeddings, embeddings.shape[1], padded, n_terms,
        laid_out, query_rows, words, n, norms, factors, cost.shape[1], close, ground_cost == "euclidean", cost, unsound,
    )  # fmt: skip
    together(work, worthwhile(n_threads, n_terms * query_rows.size))
    if unsound[0] >= 0:
        check_terms(terms[unsound], embeddings)
    return cost[:n_terms]


def _laid_out(
    query_rows: NDArray[np.floating], n_words: int
) -> tuple[NDArray[np.generic], NDArray[np.float32] | None, float]:
    """The query's embeddings as the loops read them; in fixed point also by what the products are to be multiplied; and
    the cost below which it is computed again from the difference."""
    if query_rows.dtype == np.float32 and fixed_point.serves(n_words, query_rows.shape[1]):
        rows, factors = fixed_point.rounded(query_rows)
        return loops.lay_out_words(rows.view(np.int32)), factors, fixed_point.CLOSE_COST  # pairs stay together
    return loops.lay_out_words(query_rows), None, CLOSE_COST


def _aligned(n_rows: int, n_columns: int, dtype: np.dtype[np.floating]) -> Table:
    """A table without values that begins with a cache line: a register that lies across two takes twice as long."""
    n_bytes = n_rows * n_columns * dtype.itemsize
    room = np.empty(n_bytes + _CACHE_LINE_BYTES, np.uint8)
    start = -room.ctypes.data % _CACHE_LINE_BYTES
    return room[start : start + n_bytes].view(dtype).reshape(n_rows, n_columns)
