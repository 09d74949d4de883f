"""Finds the passage of each long document that holds most of a query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.ranking.query import Query
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies

_WINDOW = 0b11  # of two parts of a bag, 128 tokens; windows overlap by half
_BITS = np.arange(32, dtype=np.uint32)

# Of windows that hold the same words of a query, the one with more of them in both parts is best.
_IN_BOTH = 1e-3

# Distinct words of a query, as many as a part has: a longer one is not answered by one window.
_LONGEST_QUERY = 64


def best_windows(
    query: Query, candidates: Sequence[tuple[BagOfWords, str]], frequencies: DocumentFrequencies | None
) -> Sequence[tuple[BagOfWords, str]]:
    """The candidates, with the words of its best window in place of each long document in the query's language: the
    window that holds the largest part of the query's words by idf; of equal ones the first.

    Args:
        candidates: bags, each with its language.
        frequencies: as `QueryStems.idf` takes them.
    """
    long = [
        place
        for place, (bag, language) in enumerate(candidates)
        if bag.parts is not None and language == query.language
    ]
    if not long or query.n_words > _LONGEST_QUERY:
        return candidates
    stems, bags = query.stems, [candidates[place][0] for place in long]
    found = list(candidates)
    counts, held = stems.counts_in(bags)
    first_parts = _first_parts(stems.parts_in(bags, held), stems.weights(counts, held, frequencies))
    for place, bag, first in zip(long, bags, first_parts.tolist(), strict=True):
        found[place] = bag.at_parts(_WINDOW << first), query.language
    return found


def _first_parts(parts: NDArray[np.uint32], weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """(n_bags,): the part in which the best window of each bag begins.

    Args:
        parts: (n_bags, n_stems) that hold each stem.
        weights: (n_stems,)
    """
    is_held = (parts[:, :, None] >> _BITS & np.uint32(1)).astype(np.float64)
    n_parts = is_held[:, :, :-1] + is_held[:, :, 1:]  # of each window
    held = np.einsum("bsk,s->bk", np.minimum(n_parts, 1.0) + _IN_BOTH * n_parts, weights)
    found: NDArray[np.intp] = held.argmax(axis=1)
    return found
