"""BM25 with RM3: a query is expanded by the words of the documents that it finds first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from papers.systems.bm25 import K1, B
from papers.systems.protocol import Matrix
from papers.systems.term_counts import term_counts, vocabulary
from papers.systems.translated_bm25 import Index

N_DOCUMENTS, N_TERMS = 10, 10
"""The defaults of Anserini."""


class Rm3:
    """Expands queries and searches again (Abdul-Jaleel et al. 2004; relevance models: Lavrenko and Croft 2001).

    Args:
        documents: the terms of each document; at least one document.
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._index = Index(documents, K1, B)
        columns = vocabulary(documents)
        self._terms = list(columns)
        counts = term_counts(documents, columns)
        self._counts, self._lengths = counts, np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)

    def scores(self, terms: Sequence[str]) -> tuple[Matrix, Matrix]:
        """(n_documents,) BM25 of the query's terms, and of the terms of the relevance model.

        The weights of each sum to 1, so a share of one and the rest of the other is the score of RM3.
        """
        asked = Counter(terms)
        found = self._index.scores({term: n / len(terms) for term, n in asked.items()})
        return found, self._index.scores(self.relevance_model(found))

    def relevance_model(self, scores: Matrix) -> Mapping[str, float]:
        """The `N_TERMS` most probable terms: P(w) = Σ score(d) · tf(w, d) / |d| over the `N_DOCUMENTS` best, sum 1."""
        best = [row for row in np.argsort(-scores, kind="stable")[:N_DOCUMENTS] if scores[row] > 0]
        if not best:
            return {}
        weights = np.asarray((scores[best] / self._lengths[best]) @ self._counts[best]).ravel()
        chosen = np.argsort(-weights, kind="stable")[:N_TERMS]
        total = weights[chosen].sum()
        return {self._terms[column]: float(weights[column] / total) for column in chosen if weights[column] > 0}
