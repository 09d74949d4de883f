"""Lets like candidates speak for each other: one that resembles highly scored ones is likelier to be relevant.

This is score regularisation (Diaz 2005, "Regularizing ad hoc retrieval scores"), in one step. Candidates are alike by
the Bhattacharyya coefficient of their words: the sum over the words of both of the square root of the weights'
product, 0 to 1. It needs no embedding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBags, distinct_of
from reranker.transport import compilation, plain

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
    best = np.argsort(-scores, kind="stable")[:N_BEST]
    n_nearest = min(N_NEAREST, len(scores) - 1)
    if n_nearest < 1:
        return scores
    likeness = _likeness(bags, best)
    # By value and not by place: equally near ones count alike, whatever order the candidates come in.
    least = np.partition(likeness, -n_nearest, axis=1)[:, -n_nearest]
    weights = np.where(likeness >= least[:, None], likeness, 0.0)
    weights *= weights
    weights *= weights  # to the fourth: `**` takes twenty times as long
    totals = weights.sum(axis=1)
    means = weights @ scores[best] / np.where(totals > 0, totals, 1.0)
    found: NDArray[np.float64] = np.where(totals > 0, means, scores)
    return found


def _likeness(bags: WeightedBags, best: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n, n_best): the Bhattacharyya coefficient of each bag and each of the best; 0 of a bag and itself."""
    term_ids, terms = distinct_of(bags)
    shared = terms.astype(np.int64), np.asarray(bags.offsets, np.int64), np.sqrt(bags.weights), best.astype(np.int64)
    if not compilation.is_ready():
        found = plain.shared_products(*shared, len(term_ids))
    else:
        from reranker.transport.kernels.likeness import shared_products  # Numba takes a second to import

        found = np.zeros((len(bags), len(best)))
        shared_products(*shared, len(term_ids), found)
    found[best, np.arange(len(best))] = 0.0
    return found
