"""Turns the distinct terms of many documents into a table of costs to the query's words."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBag
from reranker.transport.cost import CLOSE_COST
from reranker.transport.kernels import cost_tables, fixed_point, products
from reranker.transport.kernels.simd import REGISTER_BYTES
from reranker.transport.problem import check_terms, readable
from reranker.transport.threads import together, worthwhile

Table = NDArray[np.floating]

# Columns are filled up to a multiple of this: a register of float32, two of float64.
WIDTH_STEP = 16


def width(n: int) -> int:
    """Columns of a table for n query words."""
    return -(-n // WIDTH_STEP) * WIDTH_STEP


def cost_table(
    query: WeightedBag,
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
    n, n_terms = len(query), len(terms)
    query_rows = np.zeros((width(n), embeddings.shape[1]), dtype)
    query_rows[:n] = np.asarray(embeddings[query.term_ids])
    norms = np.ones(len(query_rows), dtype) if dtype == np.float32 else np.einsum("ij,ij->i", query_rows, query_rows)
    words, factors = products.panel(query_rows, n)
    close = fixed_point.CLOSE_COST if words.dtype == np.int16 else CLOSE_COST
    cost = _aligned(n_terms + products.N_TERMS, len(query_rows), dtype)
    unsound = np.full(1, -1)
    if not n_terms:
        return cost[:0]
    padded = np.concatenate([terms, np.full(2 * products.N_TERMS, terms[-1], np.int32)])
    work = partial(
        cost_tables.fill_tables, np.zeros(1, np.int64), readable(embeddings), padded, n_terms, words, factors,
        query_rows[:n], query.term_ids, norms, close, ground_cost == "euclidean", cost, unsound,
    )  # fmt: skip
    together(work, worthwhile(n_threads, n_terms * query_rows.size))
    if unsound[0] >= 0:
        check_terms(terms[unsound], embeddings)
    return cost[:n_terms]


def _aligned(n_rows: int, n_columns: int, dtype: np.dtype[np.floating]) -> Table:
    """A table without values that begins with a cache line: a register that lies across two takes twice as long."""
    n_bytes = n_rows * n_columns * dtype.itemsize
    room = np.empty(n_bytes + REGISTER_BYTES, np.uint8)
    start = -room.__array_interface__["data"][0] % REGISTER_BYTES
    return room[start : start + n_bytes].view(dtype).reshape(n_rows, n_columns)
