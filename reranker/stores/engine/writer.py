"""Writes a stream of documents to an engine: several bulk requests at a time, of a size that the engine sets, and the
results in the order of the stream."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import opensearchpy
from opensearchpy import exceptions

from reranker.stores.base.writing import PreparedDocument, Writable, WriteResult
from reranker.stores.engine.bulk import BulkSender

# As opensearch-py's `parallel_bulk`.
_REQUESTS_AT_A_TIME = 4

_FIRST_BATCH_DOCUMENTS = 100
_MAX_BATCH_DOCUMENTS = 2_000
# A tenth of the engines' `http.max_content_length`.
_MAX_BATCH_BYTES = 10_000_000

# Longer requests use the engine's memory for long. In shorter ones the fixed cost of a request weighs more.
_WANTED_SECONDS = 1.0


class BatchSize:
    """The number of documents in a bulk request: as many as the engine indexes in about a second. It is halved when the
    engine refuses because of load. It doubles otherwise; steps of a fixed size would take too long from 100 to
    2,000."""

    def __init__(self) -> None:
        self.documents = _FIRST_BATCH_DOCUMENTS
        self._lock = threading.Lock()

    def took(self, n_documents: int, seconds: float) -> None:
        """Learns from a successful request."""
        with self._lock:
            if seconds > 2 * _WANTED_SECONDS:
                self.documents = max(1, min(self.documents, n_documents) // 2)
            elif seconds < _WANTED_SECONDS and n_documents >= self.documents:
                self.documents = min(_MAX_BATCH_DOCUMENTS, 2 * self.documents)

    def shrink(self) -> None:
        """Learns from a request that the engine refused because of load."""
        with self._lock:
            self.documents = max(1, self.documents // 2)


class _Batch(NamedTuple):
    """The documents of one request. All ids differ: of two documents with one id the later has to win, and a retry
    changes the order."""

    documents: list[PreparedDocument]
    ids: set[str]


class BulkWriter:
    """Writes prepared documents to one index of one engine."""

    def __init__(
        self, client: opensearchpy.OpenSearch, index: str, timeout_s: float, pipeline: str | None = None
    ) -> None:
        self._size = BatchSize()
        self._stopping = threading.Event()
        self._sender = BulkSender(client, index, timeout_s, self._size.shrink, self._pause, pipeline)

    def write(self, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        """Yields one result for each document, in order.

        Raises:
            exceptions.TransportError: the engine cannot take them. Write the documents without a result again; to write
                one twice does no harm.
        """
        with ThreadPoolExecutor(_REQUESTS_AT_A_TIME, thread_name_prefix="bulk") as pool:
            on_their_way: deque[tuple[_Batch, Future[list[str | None]]]] = deque()
            try:
                for batch in self._batches(documents):
                    while len(on_their_way) >= _REQUESTS_AT_A_TIME or _shares_an_id(batch, on_their_way):
                        yield from _results(*on_their_way.popleft())
                    on_their_way.append((batch, pool.submit(self._send, batch)))
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

    def _batches(self, documents: Iterable[Writable]) -> Iterator[_Batch]:
        batch, n_bytes = _Batch([], set()), 0
        for document in documents:
            is_full = document is None or (
                len(batch.documents) >= self._size.documents
                or n_bytes + document.n_bytes > _MAX_BATCH_BYTES
                or document.doc_id in batch.ids
            )
            if is_full and batch.documents:
                yield batch
                batch, n_bytes = _Batch([], set()), 0
            if document is not None:
                batch.documents.append(document)
                batch.ids.add(document.doc_id)
                n_bytes += document.n_bytes
        if batch.documents:
            yield batch

    def _send(self, batch: _Batch) -> list[str | None]:
        actions = [one.content for one in batch.documents if one.problem is None]
        if not actions:
            return []
        started = time.monotonic()
        errors = self._sender.send(actions)
        self._size.took(len(actions), time.monotonic() - started)
        return errors


def _shares_an_id(batch: _Batch, others: Iterable[tuple[_Batch, Future[list[str | None]]]]) -> bool:
    return any(not batch.ids.isdisjoint(other.ids) for other, _ in others)


def _results(batch: _Batch, future: Future[list[str | None]]) -> Iterator[WriteResult]:
    failure: exceptions.TransportError | None = None
    try:
        errors = iter(future.result())
    except exceptions.TransportError as error:
        failure, errors = error, iter(())
    for document in batch.documents:
        if document.problem is not None:
            yield WriteResult(document.doc_id, document.problem)
        elif failure is not None:
            raise failure
        else:
            yield WriteResult(document.doc_id, next(errors))
