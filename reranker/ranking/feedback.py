"""Moves a query towards its best candidates: pseudo-relevance feedback on the words that transport compares.

The moved query is a barycentre of words: half of its weight is the query's own, the other half that of the words of the
best candidates of a first order (Rocchio 1971; Lavrenko and Croft 2001 for the mixing). A candidate counts by the
eighth power of its score: where one is far ahead it counts nearly alone, and where many are close they all count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBag, WeightedBags, distinct_of

N_BEST = 20
"""Candidates that the query is moved towards."""

N_WORDS = 60
"""Their heaviest words, which the moved query takes."""

# What the words of the best candidates weigh in the moved query; the query's own weigh the rest.
_SHARE = 0.5

# Chosen with the figures above on six English collections together (docs/evaluation.md); 5 to 12 are level.
_POWER = 8

# Titles and names of one to three words have one right answer more often than a topic: what the best candidates say
# loses more there than it gains. With few candidates the best are no choice (both in docs/evaluation.md).
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
    best = np.argsort(-scores, kind="stable")[:N_BEST]
    counts = np.zeros(len(candidates))
    counts[best] = (scores[best] / scores[best[0]]) ** _POWER
    term_ids, places = distinct_of(candidates)
    summed = np.bincount(places, np.repeat(counts, np.diff(candidates.offsets)) * candidates.weights)
    heaviest = _heaviest(summed)
    if not len(heaviest):
        return query
    added = summed[heaviest] * (_SHARE / summed[heaviest].sum())
    return _joined(query, term_ids[heaviest], added)


def _heaviest(weights: NDArray[Any]) -> NDArray[np.int64]:
    """The places of the `N_WORDS` largest weights above 0; of equal ones the first."""
    least = np.partition(weights, -N_WORDS)[-N_WORDS] if len(weights) > N_WORDS else 0.0
    places = np.flatnonzero(weights >= least if least > 0 else weights)
    if len(places) > N_WORDS:  # several are as heavy as the last
        places = places[np.argsort(-weights[places], kind="stable")[:N_WORDS]]
    return places


def _joined(query: WeightedBag, term_ids: NDArray[np.int32], weights: NDArray[np.float64]) -> WeightedBag:
    """The query's words and others, each once; the weights sum to 1."""
    joined = dict(zip(term_ids.tolist(), weights.tolist(), strict=True))
    for term_id, weight in zip(query.term_ids.tolist(), query.weights.tolist(), strict=True):
        joined[term_id] = joined.get(term_id, 0.0) + (1.0 - _SHARE) * weight
    rows = sorted(joined.items())
    summed = np.array([weight for _, weight in rows])
    return WeightedBag(np.array([term_id for term_id, _ in rows], dtype=np.int32), summed / summed.sum())
