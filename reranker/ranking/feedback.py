"""Moves a query towards its best candidates: pseudo-relevance feedback on the words that transport compares.

The moved query is a barycentre of words: half of its weight is the query's own, the other half that of the words of the
best candidates of a first order (Rocchio 1971; Lavrenko and Croft 2001 for the mixing). A candidate counts by the
eighth power of its score: where one is far ahead it counts nearly alone, and where many are close they all count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.native.transport import moved_words
from reranker.text.bags import WeightedBag, WeightedBags

N_BEST = 20
"""Candidates that the query is moved towards."""

N_WORDS = 60
"""Their heaviest words, which the moved query takes."""

# What the words of the best candidates weigh in the moved query; the query's own weigh the rest.
_SHARE = 0.5

# Chosen with the figures above on six English collections together (papers/results/order.md); 5 to 12 are level.
_POWER = 8

# Titles and names of one to three words have one right answer more often than a topic: what the best candidates say
# loses more there than it gains. With few candidates the best are no choice (both in papers/results/order.md).
# Where the query is encoded, that says more than the best candidates of one word more.
MIN_QUERY_WORDS = 4
MIN_ENCODED_QUERY_WORDS = 5
MIN_CANDIDATES = 20


def is_worth_it(n_query_words: int, n_candidates: int, is_encoded: bool = False) -> bool:
    """Whether what the best candidates say helps more than it harms: feedback, and neighbours.

    Args:
        is_encoded: a sentence encoder reads the query too.
    """
    least = MIN_ENCODED_QUERY_WORDS if is_encoded else MIN_QUERY_WORDS
    return n_query_words >= least and n_candidates >= MIN_CANDIDATES


def moved_query(query: WeightedBag, candidates: WeightedBags, scores: NDArray[np.float64]) -> WeightedBag:
    """The query moved towards its best candidates; the query itself where none of them has a word.

    Args:
        scores: (n_candidates,) of the first order, above 0; higher is better.
    """
    best, counts = _best(scores)
    term_ids, terms = candidates.distinct
    words = term_ids, terms, candidates.offsets, candidates.weights, best, counts, query.term_ids, query.weights
    return WeightedBag(*moved_words(*words, N_WORDS, _SHARE))


def gained_words(query: WeightedBag, moved: WeightedBag) -> WeightedBag:
    """The words that a moved query has and the query has not, the heaviest first, with their weights in it."""
    is_new = ~np.isin(moved.term_ids, query.term_ids)
    term_ids, weights = moved.term_ids[is_new], moved.weights[is_new]
    heaviest = np.argsort(-weights, kind="stable")
    return WeightedBag(term_ids[heaviest], weights[heaviest])


def brought_by(
    gained: WeightedBag, candidates: WeightedBags, scores: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places of the best candidates, and what each adds to the weight of the gained words, but for one factor.

    Args:
        scores: as `moved_query` takes them.
    """
    best, counts = _best(scores)
    bags = [candidates[place] for place in best.tolist()]
    return best, counts * [float(bag.weights[np.isin(bag.term_ids, gained.term_ids)].sum()) for bag in bags]


def _best(scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The candidates that a query is moved towards, and by how much the words of each count."""
    best = np.argsort(-scores, kind="stable")[:N_BEST]
    return best, (scores[best] / scores[best[0]]) ** _POWER
