"""tf·idf of surface forms: the words of a query found as they are spelled, whatever the language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from evaluation.corpora.pages import Page
from evaluation.stopwatch import Stopwatch
from evaluation.systems.protocol import Distances, Matrix
from evaluation.tasks import Task
from ingest.progress import Progress, no_progress


class TfIdf:
    """The baseline `idf` of Balikas et al. 2018: cosine of tf·idf vectors over one vocabulary of strings."""

    name = "tf-idf"
    description = "cosine of tf·idf vectors of surface forms, one vocabulary for both languages (`idf` of Balikas 2018)"
    data = ""

    def fit(self, pages: Sequence[Page] = (), progress: Progress = no_progress) -> None:
        """Does nothing: the idf is that of the documents that are searched."""

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """As `System`; +inf where query and document share no word.

        The idf is counted per language over the documents and over the same documents in the query's language, as for
        our own methods: log((N + 1) / (df + 1)).
        """
        preparing, asking = Stopwatch(), Stopwatch()
        with preparing.running():
            counter = CountVectorizer(analyzer=_as_it_is)
            documents = counter.fit_transform(task.documents.values())
            query_side = counter.transform(task.query_side.values())
            weighted = normalize(documents.multiply(_idf(documents)).tocsr())
            query_idf = _idf(query_side)
        with asking.running():
            queries = normalize(counter.transform(task.queries.values()).multiply(query_idf).tocsr())
            cosines = (queries @ weighted.T).toarray()
            values = np.where(cosines > 0, 1.0 - cosines, np.inf)
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return Distances(values, preparing.seconds, asking.seconds)


def _as_it_is(tokens: Iterable[str]) -> Iterable[str]:
    return tokens


def _idf(counts: csr_matrix) -> Matrix:
    """(1, n_words), of counts (n_texts, n_words)."""
    frequencies = counts.getnnz(axis=0)
    idf: Matrix = np.log((counts.shape[0] + 1) / (frequencies + 1))
    return idf[None, :]
