"""The compiled loop that finds how alike documents are by the words that they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.kernels.compiling import compiled

Double = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def shared_products(terms: Ints, offsets: Ints, values: Double, best: Ints, n_terms: int, found: Double) -> None:
    """Adds the product of the values of each term that a document and one of the best share, term by term in the
    document's order.

    Args:
        terms: (n_words,) from 0 to n_terms - 1; offsets: (n_documents + 1,); values: (n_words,).
        best: (n_best,) documents.
        found: (n_documents, n_best) of zeros.
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
            columns[place], held[place] = column, values[word]
            free[terms[word]] += 1
    for document in range(len(offsets) - 1):
        row = found[document]
        for word in range(offsets[document], offsets[document + 1]):
            value = values[word]
            for place in range(starts[terms[word]], starts[terms[word] + 1]):
                row[columns[place]] += value * held[place]
