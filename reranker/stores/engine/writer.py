"""Writes a stream of documents to an engine: several bulk requests at a time, and the results in the order of the
stream."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from operator import attrgetter

import opensearchpy
from opensearchpy import exceptions

from reranker.base.batches import in_batches
from reranker.stores.base.writing import PreparedDocument, WriteResult
from reranker.stores.engine.bulk import BulkSender

# As opensearch-py's `parallel_bulk`.
_REQUESTS_AT_A_TIME = 4

# An engine that indexes 1,000 documents a second takes a second for four such requests; one that indexes 15 still
# answers within the time limit.
_BATCH_DOCUMENTS = 200
# A tenth of the engines' `http.max_content_length`.
_BATCH_BYTES = 10_000_000

_Errors = list[str | None]


class BulkWriter:
    """Writes prepared documents to one index of one engine."""

    def __init__(self, client: opensearchpy.OpenSearch, index: str, timeout_s: float) -> None:
        self._stopping = threading.Event()
        self._sender = BulkSender(client, index, timeout_s, self._pause)

    def write(self, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        """Yields one result for each document, in order.

        Raises:
            exceptions.TransportError: the engine cannot take them. Write the documents without a result again; to write
                one twice does no harm.
        """
        with ThreadPoolExecutor(_REQUESTS_AT_A_TIME, thread_name_prefix="bulk") as pool:
            on_their_way: deque[tuple[Sequence[PreparedDocument], Future[_Errors]]] = deque()
            try:
                for batch in in_batches(documents, attrgetter("n_bytes"), _BATCH_DOCUMENTS, _BATCH_BYTES):
                    if len(on_their_way) >= _REQUESTS_AT_A_TIME:
                        yield from _results(*on_their_way.popleft())
                    on_their_way.append((batch, pool.submit(self._sender.send, [one.content for one in batch])))
                    while on_their_way and on_their_way[0][1].done():
                        yield from _results(*on_their_way.popleft())
                while on_their_way:
                    yield from _results(*on_their_way.popleft())
            finally:
                # After Ctrl-C nobody waits for the rest, so its retries end.
                self._stopping.set()

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise exceptions.ConnectionError("N/A", "stopped between two tries", None)


def _results(batch: Sequence[PreparedDocument], future: Future[_Errors]) -> Iterator[WriteResult]:
    for document, error in zip(batch, future.result(), strict=True):
        yield WriteResult(document.doc_id, error)
