"""Turns bags of words into mean embeddings, all in one compiled pass, and these into the distances of `nbow`."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from reranker.native import transport as loops
from reranker.text.bags import WeightedBags
from reranker.transport.problem import Problem, check_rows
from reranker.transport.threads import together, worthwhile


def mean_embeddings(bags: WeightedBags, embeddings: NDArray[np.float32], n_threads: int = 1) -> NDArray[np.float32]:
    """The weighted mean embedding of each bag, of length 1: (n_bags, dim) float32.

    Row k is sum_j b_j y_j / ‖sum_j b_j y_j‖; 0 for a bag without a word and where the mean is 0. The product of two
    rows is 1 - their distance by `nbow`.

    Args:
        bags: as an `IdfTable` weighs them.
        embeddings: (n_terms, dim) float32; may be a memory map.
        n_threads: the most threads that may work; they give the same values bit for bit.

    Raises:
        BadEmbeddings: an embedding is not finite.

    >>> from reranker.text.bags import WeightedBag
    >>> table = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> both = WeightedBag(np.arange(2, dtype=np.int32), np.array([0.6, 0.4]))
    >>> mean_embeddings(WeightedBags.join([both]), table).round(4)
    array([[0.8321, 0.5547]], dtype=float32)
    """
    means = np.empty((len(bags), embeddings.shape[1]), np.float32)
    offsets = bags.offsets.astype(np.int64, copy=False)
    unsound = np.full(1, -1, np.int64)
    work = partial(
        loops.fill_bag_means,
        np.zeros(1, np.int64),
        embeddings,
        embeddings.shape[1],
        bags.term_ids.astype(np.int32, copy=False),
        bags.weights,
        offsets,
        len(bags),
        means,
        unsound,
    )
    together(work, worthwhile(min(n_threads, max(len(bags), 1)), len(bags.term_ids) * embeddings.shape[1]))
    if unsound[0] >= 0:
        bag = bags[int(unsound[0])]
        check_rows(bag.term_ids, np.take(embeddings, bag.term_ids, axis=0))
    return means


def candidate_means(problem: Problem, n_threads: int = 1) -> NDArray[np.float32]:
    """`mean_embeddings` of all candidates of a problem."""
    if problem.means is not None:
        return problem.means
    return mean_embeddings(problem.candidates, problem.embeddings, n_threads)


def fill(problem: Problem, n_threads: int, values: NDArray[np.float64]) -> None:
    """Writes 1 - cosine of the mean embeddings of the query and of all candidates; nothing for a candidate without a
    word."""
    query, embeddings, means = problem.query, problem.embeddings, candidate_means(problem, n_threads)
    loops.one_less_cosines(
        embeddings, embeddings.shape[1], query.term_ids, query.weights, len(query), means, problem.candidates.offsets,
        len(means), values,
    )  # fmt: skip
