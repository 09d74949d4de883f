"""Turns the distinct terms of many documents into tables of costs and kernels to the query's words, by blocks of
one matrix product each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag
from reranker.transport import kernels
from reranker.transport.cost import CLOSE_COST
from reranker.transport.problem import check_rows
from reranker.transport.threads import run

# Terms of one matrix product: its embeddings (of 300 dimensions, 0.6 MB) stay in the second-level cache.
BLOCK_TERMS = 512
# Columns are filled up to a multiple of this: a vector register of 512 bits, two of 256.
WIDTH_STEP = 16


def width(n: int) -> int:
    """Columns of a table for n query words."""
    return -(-n // WIDTH_STEP) * WIDTH_STEP


def _blocks(n_terms: int) -> list[tuple[int, int]]:
    """Always the same, so that a product does not depend on the number of threads."""
    return [(start, min(start + BLOCK_TERMS, n_terms)) for start in range(0, n_terms, BLOCK_TERMS)]


def cost_table(
    query: WeightedBag,
    terms: NDArray[np.int32],
    embeddings: NDArray[np.float32],
    dtype: np.dtype[np.floating],
    n_threads: int,
) -> NDArray[np.floating]:
    """Ground costs (k, width) of k document terms to n query words; columns from n on are without meaning.

    In float32 the rows are taken to be of norm 1; in float64 their norms are computed, since float32 rows have
    them to 1e-7 only, and exp(-cost / 0.003) would show it.
    """
    n, single = len(query), dtype == np.float32
    query_rows = np.zeros((width(n), embeddings.shape[1]), dtype)
    query_rows[:n] = np.asarray(embeddings[query.term_ids])
    query_norms = np.ones(len(query_rows), dtype) if single else _squared_norms(query_rows)
    cost = np.empty((len(terms), len(query_rows)), dtype)

    def work(start: int, end: int) -> None:
        ids, block = terms[start:end], cost[start:end]
        rows = np.ascontiguousarray(np.take(embeddings, ids, axis=0), dtype=dtype)
        np.matmul(rows, query_rows.T, out=block)
        check_rows(ids, block[:, :1])  # NaN and inf in a row show in each of its products
        row_norms = np.ones(len(rows), dtype) if single else _squared_norms(rows)
        kernels.costs_from_products(block, n, query_norms, row_norms, query.term_ids, ids, query_rows, rows, CLOSE_COST)

    run(work, _blocks(len(terms)), n_threads)
    return cost


def kernel_table(cost: NDArray[np.floating], n: int, epsilon: float, n_threads: int) -> NDArray[np.floating]:
    """exp(-cost / epsilon), (k, width), 0 from column n on."""
    kernel = np.empty_like(cost)

    def work(start: int, end: int) -> None:
        block = kernel[start:end]
        np.multiply(cost[start:end], cost.dtype.type(-1 / epsilon), out=block)
        np.exp(block, out=block)
        block[:, n:] = 0

    run(work, _blocks(len(cost)), n_threads)
    return kernel


def _squared_norms(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
