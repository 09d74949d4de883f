"""BM25 among texts of one language (Kusner et al. 2015)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from ingest.progress import Progress
from papers.corpora.tasks import Direction, Task
from papers.systems.latent import one_language
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.translated_bm25 import Index

K1, B = 1.2, 0.75
"""The usual constants."""


class MonolingualBM25(TimedSystem[Index]):
    """BM25 among texts of one language, with words as they are spelled (Kusner et al. 2015). The distance is the
    negative score, +inf without a common word.

    Args:
        directions: directions of the tasks, each with the same language on both sides.

    Raises:
        BadInput: a direction has two languages.
    """

    name = "bm25"
    description = (
        f"BM25 of surface forms in one language (bm25s, Lucene's form, k1 {K1:g}, b {B:g}; Kusner et al. 2015)"
    )

    def __init__(self, directions: Iterable[Direction]) -> None:
        one_language(self.name, directions)

    def prepare(self, task: Task) -> Index:
        return Index(list(task.documents.values()), K1, B)

    def compare(self, task: Task, documents: Index, progress: Progress) -> Matrix:
        scores = np.array([documents.scores(Counter(tokens)) for tokens in task.queries.values()])
        return np.where(scores > 0, -scores, np.inf)
