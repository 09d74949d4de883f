"""Lets like candidates speak for each other: one that resembles highly scored ones is likelier to be relevant.

This is score regularisation (Diaz 2005, "Regularizing ad hoc retrieval scores"), in one step. Candidates are alike by
the Bhattacharyya coefficient of their words: the sum over the words of both of the square root of the weights'
product, 0 to 1. It needs no embedding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.native.transport import neighbour_means
from reranker.text.bags import WeightedBags

N_NEAREST = 5
"""Neighbours that count for each candidate; more where several are equally near."""

N_BEST = 100
"""Candidates among which they are looked for: the best so far. It bounds the time."""


def neighbour_scores(bags: WeightedBags, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean score of each candidate's nearest neighbours (n,), by the fourth power of their likeness, so that a copy
    counts much and a page that shares some words little; its own score where none of the best shares a word with it.

    Args:
        scores: (n,) of the candidates so far.
    """
    best, n_nearest = _best(scores)
    if n_nearest < 1:
        return scores
    term_ids, terms = bags.distinct
    return neighbour_means(terms, bags.offsets, np.sqrt(bags.weights), len(term_ids), best, scores, n_nearest)


def neighbours_of(
    place: int, bags: WeightedBags, scores: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places of those that may be neighbours of one candidate, and what each adds to its mean score, but for one
    factor: 0 for those that do not count.

    Args:
        scores: as `neighbour_scores` takes them.
    """
    best, n_nearest = _best(scores)
    if n_nearest < 1:
        return best, np.zeros(len(best))
    term_ids, terms = bags.distinct
    roots, own = np.sqrt(bags.weights), slice(bags.offsets[place], bags.offsets[place + 1])
    shared = np.bincount(terms[own], roots[own], len(term_ids))[terms] * roots
    likeness = np.array([shared[bags.offsets[other] : bags.offsets[other + 1]].sum() for other in best.tolist()])
    likeness[best == place] = 0.0
    least = np.partition(likeness, -n_nearest)[-n_nearest]
    weights = np.where(likeness >= least, likeness, 0.0) ** 4
    return best, weights * scores[best]


def _best(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """The candidates among which neighbours are looked for, and how many count."""
    return np.argsort(-scores, kind="stable")[:N_BEST], min(N_NEAREST, len(scores) - 1)
