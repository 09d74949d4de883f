"""Surface forms: words compared as they are spelled, in any language."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ingest.progress import Progress
from papers.corpora.tasks import Task
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.term_counts import (
    document_frequencies,
    idf,
    scaled,
    squared_lengths,
    term_counts,
    unit_length,
    vocabulary,
)

_DESCRIPTIONS = {
    "tf": "Euclidean distance of term frequencies of surface forms at unit length (Balikas et al. 2018)",
    "idf": "Euclidean distance of tf·idf of surface forms at unit length, idf log((N + 1) / (df + 1)) (Balikas et "
    "al. 2018)",
    "bow": "Euclidean distance of plain counts of surface forms (`BOW` of Kusner et al. 2015)",
    "bow-df": "Euclidean distance of counts of surface forms, each over its document frequency (`TF-IDF` of Kusner et "
    "al. 2015)",
}

SURFACE_NAMES = tuple(_DESCRIPTIONS)


Prepared = tuple[dict[str, int], sparse.csr_array, sparse.csr_array]
"""The columns of the words, the documents' vectors, the counts of the documents in the query's language."""


class SurfaceForms(TimedSystem[Prepared]):
    """The baselines `tf` and `idf` of Balikas et al. 2018 (section 4) and, for texts of one language, BOW and TF-IDF of
    Kusner et al. 2015 (section 5.1). The latter are not scaled to length 1, so long texts are far from short ones. With
    vectors of length 1 the distance is +inf without a common word.

    Args:
        name: one of `SURFACE_NAMES`.
    """

    def __init__(self, name: str) -> None:
        self.name, self.description = name, _DESCRIPTIONS[name]

    def prepare(self, task: Task) -> Prepared:
        columns = vocabulary([*task.documents.values(), *task.query_side.values(), *task.queries.values()])
        counts = term_counts(task.documents.values(), columns)
        return columns, self._weighted(counts, counts), term_counts(task.query_side.values(), columns)

    def compare(self, task: Task, documents: Prepared, progress: Progress) -> Matrix:
        columns, vectors, query_side = documents
        queries = self._weighted(term_counts(task.queries.values(), columns), query_side)
        products: NDArray[np.float64] = (queries @ vectors.T).toarray()
        squares = squared_lengths(queries)[:, None] + squared_lengths(vectors)[None, :] - 2.0 * products
        values = np.sqrt(np.maximum(squares, 0.0))
        if self.name in ("tf", "idf"):
            values[products <= 0] = np.inf
        return values

    def _weighted(self, counts: sparse.csr_array, same_language: sparse.csr_array) -> sparse.csr_array:
        """(n_texts, n_terms), the counts, weighted by the document frequencies of texts in the same language."""
        if self.name == "bow":
            return counts
        if self.name == "bow-df":
            return scaled(counts, 1.0 / np.maximum(document_frequencies(same_language), 1))
        return unit_length(counts if self.name == "tf" else scaled(counts, idf(same_language)))
