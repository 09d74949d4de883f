"""Tf·idf of words as they are spelled, in any language."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ingest.progress import Progress
from papers.corpora.tasks import Task
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.term_counts import idf, scaled, term_counts, unit_length, vocabulary

Prepared = tuple[dict[str, int], sparse.csr_array, NDArray[np.float64]]
"""The columns of the words, the documents' vectors, the idf of the query's words."""


class TfIdf(TimedSystem[Prepared]):
    """`idf` of Balikas et al. 2018 (section 4), with the cosine, which gives the same order.

    The distance is +inf if query and document share no word. The idf is counted per language over the documents and
    over the same documents in the query's language, as for our own methods: log((N + 1) / (df + 1)).
    """

    name = "tf-idf"
    description = "cosine of tf·idf vectors of surface forms, one vocabulary for both languages (`idf` of Balikas 2018)"

    def prepare(self, task: Task) -> Prepared:
        columns = vocabulary([*task.documents.values(), *task.query_side.values(), *task.queries.values()])
        counts = term_counts(task.documents.values(), columns)
        return columns, unit_length(scaled(counts, idf(counts))), idf(term_counts(task.query_side.values(), columns))

    def compare(self, task: Task, documents: Prepared, progress: Progress) -> Matrix:
        columns, vectors, query_idf = documents
        queries = unit_length(scaled(term_counts(task.queries.values(), columns), query_idf))
        cosines = (queries @ vectors.T).toarray()
        return np.where(cosines > 0, np.maximum(1.0 - cosines, 0.0), np.inf)
