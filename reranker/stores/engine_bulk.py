"""Writes documents to an engine in batches, and says of each what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import opensearchpy
from opensearchpy import exceptions, helpers

from reranker.documents import EncodedDocument
from reranker.stores.addresses import Distribution
from reranker.stores.checks import document_problem
from reranker.stores.engine_client import describe_failure, failure_reason, time_out
from reranker.stores.engine_queries import make_source
from reranker.stores.protocol import WriteResult

_BATCH_DOCUMENTS = 500
# A tenth of the engines' `http.max_content_length`.
_BATCH_BYTES = 10_000_000

# A node that is overloaded says 429 and wants to be left alone for a while.
_MAX_RETRIES = 6
_INITIAL_BACKOFF_S = 1
_MAX_BACKOFF_S = 20

# A bulk request takes longer than a search: the graph of the vectors is built in it.
_LEAST_TIMEOUT_S = 60.0

# The request as a whole is refused for what one document does to it; each is then sent alone.
_REFUSED = (400, 413)

_Action = dict[str, Any]


class BulkWriter:
    """Writes documents to one index of one engine."""

    def __init__(
        self, client: opensearchpy.OpenSearch, distribution: Distribution, index: str, dim: int, timeout_s: float
    ) -> None:
        self._client = client
        self._distribution = distribution
        self._index = index
        self._dim = dim
        self._timeout = time_out(max(_LEAST_TIMEOUT_S, timeout_s))

    def write(self, documents: Iterable[EncodedDocument]) -> Iterator[WriteResult]:
        """Yields one result a document, in order; none for a document that is not known to be written.

        Raises:
            exceptions.TransportError: the engine cannot be reached. The documents without a result are to be written
                again; twice does no harm.
        """
        for batch in self._batches(documents):
            outcome: dict[str, str | None] = {}
            failure: exceptions.TransportError | None = None
            try:
                self._send([action for _, action in batch if not isinstance(action, str)], outcome)
            except exceptions.TransportError as error:
                failure = error
            yield from _results(batch, outcome)
            if failure:
                raise failure

    def _batches(self, documents: Iterable[EncodedDocument]) -> Iterator[list[tuple[str, _Action | str]]]:
        """Ids with their actions, or with what is wrong. No id comes twice in a batch: a retry changes the order in
        which a batch is written, and the last of the two has to win."""
        batch: list[tuple[str, _Action | str]] = []
        ids: set[str] = set()
        n_bytes = 0
        for encoded in documents:
            doc_id = encoded.document.doc_id
            action = document_problem(encoded, self._dim) or self._action(encoded)
            size = 0 if isinstance(action, str) else _n_bytes(action)
            if batch and (len(batch) >= _BATCH_DOCUMENTS or n_bytes + size > _BATCH_BYTES or doc_id in ids):
                yield batch
                batch, ids, n_bytes = [], set(), 0
            batch.append((doc_id, action))
            ids.add(doc_id)
            n_bytes += size
        if batch:
            yield batch

    def _action(self, encoded: EncodedDocument) -> _Action:
        return {
            "_index": self._index,
            "_id": encoded.document.doc_id,
            "_source": make_source(self._distribution, encoded),
        }

    def _send(self, actions: list[_Action], outcome: dict[str, str | None]) -> None:
        """Sends actions in one request and notes each one's error, or None."""
        if not actions:
            return
        try:
            for ok, answer in helpers.streaming_bulk(
                self._client,
                actions,
                chunk_size=len(actions),
                raise_on_error=False,
                max_retries=_MAX_RETRIES,
                initial_backoff=_INITIAL_BACKOFF_S,
                max_backoff=_MAX_BACKOFF_S,
                request_timeout=self._timeout,
            ):
                (details,) = answer.values()
                outcome[details["_id"]] = None if ok else describe_failure(details.get("error", details.get("status")))
        except exceptions.TransportError as error:
            if error.status_code not in _REFUSED:
                raise
            if len(actions) == 1:
                outcome[actions[0]["_id"]] = failure_reason(error)
                return
            for action in actions:
                self._send([action], outcome)


def _results(batch: list[tuple[str, _Action | str]], outcome: dict[str, str | None]) -> Iterator[WriteResult]:
    for doc_id, action in batch:
        if isinstance(action, str):
            yield WriteResult(doc_id, action)
        elif doc_id in outcome:
            yield WriteResult(doc_id, outcome[doc_id])
        else:
            return


def _n_bytes(action: _Action) -> int:
    """About the size of the action in a request."""
    source = action["_source"]
    n_characters = sum(len(text) for text in source["text"].values()) + len(source["bag"])
    return 2 * n_characters + 12 * len(source.get("nbow", ())) + len(json.dumps(source["metadata"])) + 200
