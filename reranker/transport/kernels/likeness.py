"""The compiled loop that finds the documents that each document resembles, by the words that they share."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels.arrays import Double, Ints, ShortInts
from reranker.transport.kernels.compiling import compiled


@compiled
def neighbour_means(
    terms: ShortInts, offsets: Ints, roots: Double, n_terms: int, best: Ints, scores: Double, n_nearest: int
) -> Double:
    """The mean score of each document's nearest neighbours, by the fourth power of their likeness; its own score where
    none of the best shares a word with it.

    The likeness of two documents is the sum of the products of the roots of each term that both have; 0 of a document
    and itself. Equally near neighbours all count.

    Args:
        terms: (n_words,) from 0 to n_terms - 1; offsets: (n_documents + 1,); roots: (n_words,) above 0.
        best: (n_best,) documents among which neighbours are looked for, more than `n_nearest`.
        scores: (n_documents,).
    """
    # The words of the best documents by term: those of term t lie from starts[t] to ends[t].
    starts, n_best = np.zeros(n_terms + 1, np.int64), len(best)
    for document in best:
        for word in range(offsets[document], offsets[document + 1]):
            starts[terms[word] + 1] += 1
    for term in range(n_terms):
        starts[term + 1] += starts[term]
    ends = starts[:-1].copy()
    columns, held = np.empty(starts[n_terms], np.int32), np.empty(starts[n_terms], np.float64)
    likeness, is_best = np.zeros((n_best, n_best)), np.zeros(len(scores), np.bool_)
    found, of_best, nearest = np.empty(len(scores)), scores[best], np.empty(n_nearest)
    for column in range(n_best):
        _add_likeness(likeness[column], terms, offsets, roots, best[column], starts, ends, columns, held)
        for word in range(offsets[best[column]], offsets[best[column] + 1]):
            place = ends[terms[word]]
            columns[place], held[place] = column, roots[word]
            ends[terms[word]] += 1
        for other in range(column):
            likeness[other, column] = likeness[column, other]
        is_best[best[column]] = True
    for column in range(n_best):
        found[best[column]] = _mean_of_nearest(likeness[column], of_best, nearest, of_best[column])
    row = np.empty(n_best)
    for document in range(len(scores)):
        if not is_best[document]:
            row[:] = 0
            _add_likeness(row, terms, offsets, roots, document, starts, ends, columns, held)
            found[document] = _mean_of_nearest(row, of_best, nearest, scores[document])
    return found


@compiled
def _add_likeness(
    row: Double,
    terms: ShortInts,
    offsets: Ints,
    roots: Double,
    document: int,
    starts: Ints,
    ends: Ints,
    columns: ShortInts,
    held: Double,
) -> None:
    """Adds the likeness of a document and those whose words lie by term (`neighbour_means`), one in each column."""
    for word in range(offsets[document], offsets[document + 1]):
        root, term = roots[word], terms[word]
        for place in range(starts[term], ends[term]):
            row[columns[place]] += root * held[place]


@compiled
def _mean_of_nearest(likeness: Double, scores: Double, nearest: Double, own: float) -> float:
    """The mean score of the documents that one is most like; its own where it is like none. `nearest` is to work in."""
    nearest[:] = 0  # ascending
    for column in range(len(likeness)):
        if likeness[column] > nearest[0]:
            place = 0
            while place + 1 < len(nearest) and nearest[place + 1] < likeness[column]:
                nearest[place] = nearest[place + 1]
                place += 1
            nearest[place] = likeness[column]
    total = weighed = 0.0
    for column in range(len(likeness)):
        counted = likeness[column] if likeness[column] >= nearest[0] else 0.0
        weight = counted * counted * counted * counted
        total += weight
        weighed += weight * scores[column]
    return weighed / total if total > 0 else own
