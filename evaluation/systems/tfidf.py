"""Tf·idf of words as they are spelled, in any language."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.base.stopwatch import Stopwatch
from evaluation.corpora.pages import Page
from evaluation.corpora.tasks import Task
from evaluation.systems.protocol import Distances
from evaluation.systems.term_counts import idf, scaled, term_counts, unit_length, vocabulary
from ingest.progress import Progress, no_progress


class TfIdf:
    """`idf` of Balikas et al. 2018 (section 4), with the cosine, which gives the same order."""

    name = "tf-idf"
    description = "cosine of tf·idf vectors of surface forms, one vocabulary for both languages (`idf` of Balikas 2018)"
    data = ""

    def fit(self, pages: Sequence[Page] = (), progress: Progress = no_progress) -> None:
        """Does nothing: the idf comes from the searched documents."""

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The distance is +inf if query and document share no word.

        The idf is counted per language over the documents and over the same documents in the query's language, as for
        our own methods: log((N + 1) / (df + 1)).
        """
        preparing, asking = Stopwatch(), Stopwatch()
        with preparing.running():
            columns = vocabulary([*task.documents.values(), *task.query_side.values(), *task.queries.values()])
            counts = term_counts(task.documents.values(), columns)
            documents = unit_length(scaled(counts, idf(counts)))
            query_idf = idf(term_counts(task.query_side.values(), columns))
        with asking.running():
            queries = unit_length(scaled(term_counts(task.queries.values(), columns), query_idf))
            cosines = (queries @ documents.T).toarray()
            values = np.where(cosines > 0, np.maximum(1.0 - cosines, 0.0), np.inf)
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return Distances(values, preparing.seconds, asking.seconds)
