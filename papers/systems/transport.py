"""Our own methods as systems."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.progress import Progress, no_progress
from papers.base.stopwatch import Stopwatch
from papers.corpora.tasks import Task
from papers.systems.corrected import order_distances, sample_of
from papers.systems.protocol import Distances
from papers.systems.runs import EncodedTask, encode, method_distances
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import HubnessSample
from reranker.ranking.corrections import CORRECTED_METHOD
from reranker.transport import Parameters
from sinkrank.demo.pages import CorpusPage


class Transport:
    """One of `reranker.transport.METHODS` over trained embeddings.

    Args:
        depth: solve only for this many candidates of the nBOW first stage; None for all documents.
        name: None for the method's name.
        with_hubness: correct the distances of any method by hubness and unknown words
            (`reranker.ranking.corrections`); the sample is drawn from the pages given to `fit`.
    """

    data = ""

    def __init__(
        self,
        method: str,
        embeddings: Embeddings,
        parameters: Parameters = Parameters(),
        depth: int | None = None,
        n_threads: int = 1,
        name: str | None = None,
        with_hubness: bool = False,
    ) -> None:
        self.name = name or method
        self.description = f"the method {method} of Sinkrank" + (", hubness taken off" if with_hubness else "")
        self._method = method
        self._embeddings, self._parameters = embeddings, parameters
        self._depth, self._n_threads = depth, n_threads
        self._with_hubness, self._sample = with_hubness, HubnessSample()

    def fit(self, pages: Sequence[CorpusPage] = (), progress: Progress = no_progress) -> None:
        """Draws the hubness sample if needed; the embeddings are already trained."""
        if self._with_hubness:
            self._sample = sample_of(pages, self._embeddings.languages, self._embeddings)

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`."""
        return self.distances_of(encode(task, self._embeddings, self._sample), progress)

    def distances_of(self, encoded: EncodedTask, progress: Progress = no_progress) -> Distances:
        """Like `distances`, for an encoded task that several methods share. Its encoding time is included."""
        watch = Stopwatch()
        with watch.running():
            values = method_distances(encoded, self._method, self._parameters, self._depth, self._n_threads, progress)
            if self._with_hubness and self._method != CORRECTED_METHOD:  # which is corrected already
                values = order_distances(encoded.task, self._embeddings, encoded.hubness, values)
        return Distances(values, encoded.document_s, encoded.query_s + watch.seconds)
