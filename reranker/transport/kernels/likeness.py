"""The compiled loop that finds the documents that each document resembles, by the words that they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.kernels.compiling import compiled

Double = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def neighbour_means(
    terms: NDArray[np.int32], offsets: Ints, roots: Double, n_terms: int, best: Ints, scores: Double, n_nearest: int
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
    # The words of the best documents by term: those of term t lie from starts[t] to starts[t + 1].
    starts = np.zeros(n_terms + 1, np.int64)
    for document in best:
        for word in range(offsets[document], offsets[document + 1]):
            starts[terms[word] + 1] += 1
    for term in range(n_terms):
        starts[term + 1] += starts[term]
    free = starts[:-1].copy()
    columns, held = np.empty(starts[n_terms], np.int32), np.empty(starts[n_terms], np.float64)
    for column in range(len(best)):
        for word in range(offsets[best[column]], offsets[best[column] + 1]):
            place = free[terms[word]]
            columns[place], held[place] = column, roots[word]
            free[terms[word]] += 1
    found, row, nearest = np.empty(len(scores)), np.empty(len(best)), np.empty(n_nearest)
    for document in range(len(scores)):
        row[:] = 0
        for word in range(offsets[document], offsets[document + 1]):
            root = roots[word]
            for place in range(starts[terms[word]], starts[terms[word] + 1]):
                row[columns[place]] += root * held[place]
        nearest[:] = 0
        least = np.argmin(nearest)
        for column in range(len(best)):
            if best[column] == document:
                row[column] = 0
            elif row[column] > nearest[least]:
                nearest[least] = row[column]
                least = np.argmin(nearest)
        total = weighed = 0.0
        for column in range(len(best)):
            if row[column] >= nearest[least]:
                weight = row[column] * row[column] * row[column] * row[column]
                total += weight
                weighed += weight * scores[best[column]]
        found[document] = weighed / total if total > 0 else scores[document]
    return found
