"""Our own methods as systems."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.corpora.pages import Page
from evaluation.runs import EncodedTask, encode, method_distances
from evaluation.stopwatch import Stopwatch
from evaluation.systems.protocol import Distances
from evaluation.tasks import Task
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings
from reranker.transport import Parameters


class Transport:
    """One of `reranker.transport.METHODS` over embeddings that are trained already.

    Args:
        depth: solve for that many candidates of the nBOW first stage alone; None for all documents.
    """

    def __init__(
        self,
        method: str,
        embeddings: Embeddings,
        parameters: Parameters = Parameters(),
        depth: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self.name, self.description = method, f"the method {method} of Sinkrank"
        self.data = ""
        self._embeddings, self._parameters = embeddings, parameters
        self._depth, self._n_threads = depth, n_threads

    def fit(self, pages: Sequence[Page] = (), progress: Progress = no_progress) -> None:
        """Does nothing: the embeddings are trained already."""

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """As `System`."""
        return self.distances_of(encode(task, self._embeddings), progress)

    def distances_of(self, encoded: EncodedTask, progress: Progress = no_progress) -> Distances:
        """The same of a task that is encoded already, as several methods share it; its encoding counts."""
        watch = Stopwatch()
        with watch.running():
            values = method_distances(encoded, self.name, self._parameters, self._depth, self._n_threads, progress)
        return Distances(values, encoded.document_s, encoded.query_s + watch.seconds)
