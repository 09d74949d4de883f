"""The compiled loop that moves a query towards the words of its best candidates."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels.arrays import Double, Ints, ShortInts
from reranker.transport.kernels.compiling import compiled


@compiled
def moved_words(
    term_ids: ShortInts,
    terms: ShortInts,
    offsets: Ints,
    weights: Double,
    best: Ints,
    counts: Double,
    query_ids: ShortInts,
    query_weights: Double,
    n_words: int,
    share: float,
) -> tuple[ShortInts, Double]:
    """The words of a query and the heaviest of its best candidates, ascending, and their weights, which sum to 1; the
    query itself where these candidates have no word.

    Args:
        term_ids: (k,) ascending; terms: (n_words,) of all candidates, each a place among these.
        offsets: (n_candidates + 1,); weights: (n_words,).
        best: candidates; counts: by how much the weights of each count.
        query_ids, query_weights: of the query.
        n_words: of the best candidates that are taken, at most; of equally heavy ones the first.
        share: of the weights of these; the query's own have the rest.
    """
    summed, heaviest = np.zeros(len(term_ids)), np.zeros(n_words)  # the heaviest ascend
    for k in range(len(best)):
        for word in range(offsets[best[k]], offsets[best[k] + 1]):
            summed[terms[word]] += counts[k] * weights[word]
    for weight in summed:
        if weight > heaviest[0]:
            place = 0
            while place + 1 < n_words and heaviest[place + 1] < weight:
                heaviest[place] = heaviest[place + 1]
                place += 1
            heaviest[place] = weight
    total = heaviest.sum()
    if not total > 0:
        return query_ids, query_weights
    n_equal = 0  # of the words as heavy as the least of the heaviest, those that are taken
    for weight in heaviest:
        n_equal += weight == heaviest[0]
    found, moved, n_found = np.empty(n_words + len(query_ids), np.int32), np.zeros(n_words + len(query_ids)), 0
    for term in range(len(summed)):
        is_equal = summed[term] == heaviest[0]
        if summed[term] > heaviest[0] or (is_equal and n_equal > 0 and summed[term] > 0):
            n_equal -= is_equal
            found[n_found], moved[n_found] = term_ids[term], summed[term] * (share / total)
            n_found += 1
    for word in range(len(query_ids)):
        place = np.searchsorted(found[:n_found], query_ids[word])
        if place == n_found or found[place] != query_ids[word]:
            for later in range(n_found, place, -1):
                found[later], moved[later] = found[later - 1], moved[later - 1]
            found[place], moved[place] = query_ids[word], 0.0
            n_found += 1
        moved[place] += (1.0 - share) * query_weights[word]
    return found[:n_found].copy(), moved[:n_found] / moved[:n_found].sum()
