"""Surface forms: the words of a query found as they are spelled, whatever the language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from evaluation.base.stopwatch import Stopwatch
from evaluation.corpora.pages import Page
from evaluation.corpora.tasks import Task
from evaluation.systems.protocol import Distances, Matrix
from ingest.progress import Progress, no_progress

_DESCRIPTIONS = {
    "tf": "Euclidean distance of term frequencies of surface forms at unit length (Balikas et al. 2018)",
    "idf": "Euclidean distance of tf·idf of surface forms at unit length, idf log((N + 1) / (df + 1)) (Balikas et "
    "al. 2018)",
    "bow": "Euclidean distance of plain counts of surface forms (`BOW` of Kusner et al. 2015)",
    "bow-df": "Euclidean distance of counts of surface forms, each over its document frequency (`TF-IDF` of Kusner et "
    "al. 2015)",
}

SURFACE_NAMES = tuple(_DESCRIPTIONS)


class SurfaceForms:
    """The baselines `tf` and `idf` of Balikas et al. 2018 (section 4) and, for texts of one language, BOW and TF-IDF of
    Kusner et al. 2015 (section 5.1), which have no unit length: long texts lie far from short ones.

    Args:
        name: one of `SURFACE_NAMES`.
    """

    data = ""

    def __init__(self, name: str) -> None:
        self.name, self.description = name, _DESCRIPTIONS[name]

    def fit(self, pages: Sequence[Page] = (), progress: Progress = no_progress) -> None:
        """Does nothing: the frequencies are those of the documents that are searched."""

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """As `System`; of vectors of unit length +inf where query and document share no word."""
        preparing, asking = Stopwatch(), Stopwatch()
        with preparing.running():
            counter = CountVectorizer(analyzer=_as_it_is)
            counter.fit([*task.documents.values(), *task.query_side.values(), *task.queries.values()])
            counts = counter.transform(task.documents.values())
            query_side = counter.transform(task.query_side.values())
            documents = _weighted(counts, counts, self.name)
        with asking.running():
            queries = _weighted(counter.transform(task.queries.values()), query_side, self.name)
            products = (queries @ documents.T).toarray()
            squares = _squared_lengths(queries)[:, None] + _squared_lengths(documents)[None, :] - 2.0 * products
            values = np.sqrt(np.maximum(squares, 0.0))
            if self.name in ("tf", "idf"):
                values[products <= 0] = np.inf
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return Distances(values, preparing.seconds, asking.seconds)


class TfIdf:
    """As `idf` of Balikas et al. 2018, by the cosine: the same order."""

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
        found = SurfaceForms("idf").distances(task)
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return Distances(found.values**2 / 2, found.document_s, found.query_s)


def _as_it_is(tokens: Iterable[str]) -> Iterable[str]:
    return tokens


def _weighted(counts: csr_matrix, counted: csr_matrix, name: str) -> csr_matrix:
    """(n_texts, n_words): the counts weighed by the frequencies of `counted`, texts of the same language."""
    frequencies = counted.getnnz(axis=0)
    if name == "bow":
        return counts.astype(np.float64)
    if name == "bow-df":
        return counts.multiply(1.0 / np.maximum(frequencies, 1)[None, :]).tocsr()
    if name == "tf":
        return normalize(counts.astype(np.float64))
    idf: Matrix = np.log((counted.shape[0] + 1) / (frequencies + 1))
    return normalize(counts.multiply(idf[None, :]).tocsr())


def _squared_lengths(vectors: csr_matrix) -> Matrix:
    return np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
