"""BM25 among texts of one language (Kusner et al. 2015)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from evaluation.base.stopwatch import Stopwatch
from evaluation.corpora.pages import Page
from evaluation.corpora.tasks import Direction, Task
from evaluation.systems.bm25 import Index
from evaluation.systems.protocol import Distances
from ingest.progress import Progress, no_progress
from papers.systems.latent import one_language

K1, B = 1.2, 0.75
"""The usual constants."""


class MonolingualBM25:
    """BM25 among texts of one language, with words as they are spelled (Kusner et al. 2015).

    Args:
        directions: directions of the tasks, each with the same language on both sides.

    Raises:
        BadInput: a direction has two languages.
    """

    name = "bm25"
    description = (
        f"BM25 of surface forms in one language (bm25s, Lucene's form, k1 {K1:g}, b {B:g}; Kusner et al. 2015)"
    )
    data = ""

    def __init__(self, directions: Iterable[Direction]) -> None:
        one_language(self.name, directions)

    def fit(self, pages: Sequence[Page] = (), progress: Progress = no_progress) -> None:
        """Does nothing: the frequencies come from the searched documents."""

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The distance is the negative score, +inf without a common word."""
        preparing, asking = Stopwatch(), Stopwatch()
        with preparing.running():
            index = Index(list(task.documents.values()), K1, B)
        with asking.running():
            scores = np.array([index.scores(Counter(tokens)) for tokens in task.queries.values()])
            values = np.where(scores > 0, -scores, np.inf)
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return Distances(values, preparing.seconds, asking.seconds)
