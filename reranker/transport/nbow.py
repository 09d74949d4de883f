"""Turns bags of words into mean embeddings, all in one compiled pass, and these into the distances of `nbow`."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import WrongParameter
from reranker.native import transport as loops
from reranker.text.bags import WeightedBags
from reranker.transport.problem import Problem, check_embeddings, check_rows, checked_candidates
from reranker.transport.threads import together, worthwhile

Places = NDArray[np.int64]


def mean_embeddings(bags: WeightedBags, embeddings: NDArray[np.float32], n_threads: int = 1) -> NDArray[np.float32]:
    """The weighted mean embedding of each bag, of length 1: (n_bags, dim) float32.

    Row k is sum_j b_j y_j / ‖sum_j b_j y_j‖; 0 for a bag without a word and where the mean is 0. The product of two
    rows is 1 - their distance by `nbow`.

    Args:
        bags: words of weight 0 are left out.
        embeddings: (n_terms, dim) float32; may be a memory map.
        n_threads: the most threads that may work; they give the same values bit for bit.

    Raises:
        BadInput: weights, term ids or embeddings break their contract.
        WrongParameter: n_threads is below 1.

    >>> from reranker.text.bags import WeightedBag
    >>> table = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> both = WeightedBag(np.arange(2, dtype=np.int32), np.array([0.6, 0.4]))
    >>> mean_embeddings(WeightedBags.join([both]), table).round(4)
    array([[0.8321, 0.5547]], dtype=float32)
    """
    if n_threads < 1:
        raise WrongParameter(f"n_threads is {n_threads}; give 1 or more")
    check_embeddings(embeddings)
    checked = checked_candidates(bags, len(embeddings))
    return _means(checked, embeddings, np.arange(len(checked)), n_threads)


def candidate_means(problem: Problem, n_threads: int = 1) -> NDArray[np.float32]:
    """`mean_embeddings` of all candidates of a problem, computed once for all queries (`Problem.with_moved_query`)."""
    known, candidates, embeddings = problem.of_candidates, problem.candidates, problem.embeddings
    if known.means is None:
        known.means = _means(candidates, embeddings, np.arange(len(candidates)), n_threads)
    return known.means


def means_at(problem: Problem, places: Places, n_threads: int = 1) -> NDArray[np.float32]:
    """`mean_embeddings` of the candidates at some places, (len(places), dim)."""
    return _means(problem.candidates, problem.embeddings, places, n_threads)


def fill(problem: Problem, places: Places | None, n_threads: int, values: NDArray[np.float64]) -> None:
    """Writes 1 - cosine of the mean embeddings of the query and of the candidates at some places (None: all); nothing
    for a candidate without a word."""
    candidates, embeddings, query = problem.candidates, problem.embeddings, problem.query
    if places is None:
        places, means = np.arange(len(candidates)), candidate_means(problem, n_threads)
    else:
        means = _means(candidates, embeddings, places, n_threads)
    loops.one_less_cosines(embeddings, query.term_ids, query.weights, means, candidates.offsets, places, values)


def _means(bags: WeightedBags, embeddings: NDArray[np.float32], places: Places, n_threads: int) -> NDArray[np.float32]:
    means = np.empty((len(places), embeddings.shape[1]), np.float32)
    offsets = bags.offsets.astype(np.int64, copy=False)
    unsound = np.full(1, -1)
    work = partial(
        loops.fill_bag_means,
        np.zeros(1, np.int64),
        embeddings,
        bags.term_ids.astype(np.int32, copy=False),
        bags.weights,
        offsets,
        places,
        means,
        unsound,
    )
    n_words = int(np.diff(offsets)[places].sum())
    together(work, worthwhile(min(n_threads, max(len(places), 1)), n_words * embeddings.shape[1]))
    if unsound[0] >= 0:
        bag = bags[int(places[unsound[0]])]
        check_rows(bag.term_ids, np.take(embeddings, bag.term_ids, axis=0))
    return means
