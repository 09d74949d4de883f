"""Streams encoded rows into a store and settles them in the order of the input, so that a checkpoint can record up to
which row everything is done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice

from ingest.agreement import SAMPLE_SIZE
from ingest.checkpoint import Checkpoint, Settled
from ingest.encoding import EncodedRow, EncodingWorkers, RowEncoder
from ingest.files import Row
from ingest.pieces import in_pieces
from ingest.progress import Progress
from ingest.rejects import RejectFile
from ingest.sampling import keep_smallest
from reranker.base.errors import NotFound, StoreUnavailable
from reranker.embeddings.hubness import HubnessSample, HubnessSampleBuilder
from reranker.stores.base.protocol import Store
from reranker.stores.base.writing import PreparedDocument, Writable, WriteResult

_SECONDS_BETWEEN_CHECKPOINTS = 1.0
# Often enough for a smooth progress bar, and rare enough to cost nothing.
_ROWS_A_REPORT = 50
# Rejected rows wait for the documents before them. After so many, the store sends its documents at once.
_MAX_WAITING_ROWS = 10_000


class Writing:
    """Writes the rows after those that a checkpoint has settled.

    Attributes:
        settled: the state of the rows so far.
    """

    def __init__(
        self,
        store: Store,
        target: str | None,
        checkpoint: Checkpoint,
        rejects: RejectFile,
        progress: Progress,
        embeddings_version: str,
    ) -> None:
        """
        Args:
            target: the index; None writes nothing and counts every document as written.
            embeddings_version: version of the embeddings that encode the rows.
        """
        self._store = store
        self._target = target
        self._checkpoint = checkpoint
        self._rejects = rejects
        self._progress = progress
        # Rows that are not settled yet. Those with a reason are rejected.
        self._waiting: deque[tuple[Row, EncodedRow]] = deque()
        self._saved_at = time.monotonic()
        self._n_on_their_way = 0
        self.settled: Settled = checkpoint.settled
        drawn = HubnessSample.from_json(self.settled.hubness_sample)
        self._sample = HubnessSampleBuilder(embeddings_version, drawn)

    @property
    def hubness_sample(self) -> HubnessSample:
        """The hubness sample of the documents that are confirmed in the index."""
        return self._sample.result()

    @property
    def n_unconfirmed(self) -> int:
        """Number of rows that were read and are neither confirmed in the index nor rejected."""
        return len(self._waiting)

    @property
    def first_unconfirmed(self) -> str | None:
        """Place of the first such row, `file:line`."""
        if not self._waiting:
            return None
        row, _ = self._waiting[0]
        return f"{row.file}:{row.line}"

    def write(self, rows: Iterable[Row], encoder: RowEncoder, workers: EncodingWorkers) -> str | None:
        """Writes the rows. Returns why it ended early, or None."""
        with closing(self._documents(rows, encoder, workers)) as documents:
            try:
                for result in self._results(documents):
                    self._settle_document(result)
                if self._waiting:
                    raise StoreUnavailable(f"{self._store.address} did not answer for {len(self._waiting)} documents")
            except (StoreUnavailable, NotFound) as error:  # the index may be deleted during the run
                return str(error)
            finally:
                self._save()
        self._progress(self.settled.n_rows, self.settled.n_rows, self._description())
        return None

    def _results(self, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        if self._target is not None:
            return self._store.write_prepared(self._target, documents)
        return (WriteResult(document.doc_id) for document in documents if document is not None)

    def _documents(
        self, rows: Iterable[Row], encoder: RowEncoder, workers: EncodingWorkers
    ) -> Generator[PreparedDocument | None, None, None]:
        first_row = self.settled.n_rows
        words = self._checkpoint.bags.read()
        pieces = ((piece, list(islice(words, len(piece)))) for piece in in_pieces(rows))
        for (piece, _), encoded_rows in workers.map(encoder, pieces):
            are_first = self._checkpoint.are_first([encoded.id_hash for encoded in encoded_rows], first_row)
            first_row += len(piece)
            for row, encoded, is_first in zip(piece, encoded_rows, are_first, strict=True):
                if not is_first:
                    reason = f"the id {encoded.doc_id!r} occurred before in this input; give each document its own"
                    encoded = encoded._replace(reason=reason)
                self._waiting.append((encoded.row or row, encoded))
                if encoded.reason is None:
                    self._n_on_their_way += 1
                    yield encoded.document
                elif not self._n_on_their_way:
                    self._settle_rejects()
                elif len(self._waiting) % _MAX_WAITING_ROWS == 0:
                    yield None

    def _settle_document(self, result: WriteResult) -> None:
        row, encoded = self._waiting.popleft()
        if result.doc_id != encoded.doc_id:
            raise StoreUnavailable(f"{self._store.address} answered for {result.doc_id!r} before {encoded.doc_id!r}")
        self._n_on_their_way -= 1
        if result.error is not None:
            self._reject(row, encoded.doc_id, result.error)
        else:
            self.settled.languages[encoded.language] = self.settled.languages.get(encoded.language, 0) + 1
            self.settled.n_without_known_words += not encoded.has_known_words
            keep_smallest(self.settled.sample, encoded.id_hash, result.doc_id, SAMPLE_SIZE)
            if encoded.first_words:
                self._sample.add_packed(encoded.language, encoded.id_hash, encoded.first_words)
            self._settled_one()
        self._settle_rejects()

    def _settle_rejects(self) -> None:
        """Settles the rejected rows at the front of the queue."""
        while self._waiting and (reason := self._waiting[0][1].reason) is not None:
            row, encoded = self._waiting.popleft()
            self._reject(row, encoded.doc_id, reason)

    def _reject(self, row: Row, doc_id: str | None, reason: str) -> None:
        self._rejects.add(row, doc_id, reason)
        self.settled.n_rejected += 1
        self.settled.reject_bytes = self._rejects.n_bytes
        self._settled_one()

    def _settled_one(self) -> None:
        self.settled.n_rows += 1
        if self.settled.n_rows % _ROWS_A_REPORT == 0:
            self._progress(self.settled.n_rows, self._checkpoint.n_rows, self._description())
        if time.monotonic() - self._saved_at > _SECONDS_BETWEEN_CHECKPOINTS:
            self._save()
            self._saved_at = time.monotonic()

    def _save(self) -> None:
        self.settled.hubness_sample = self.hubness_sample.as_json()
        self._checkpoint.save(self.settled)

    def _description(self) -> str:
        what = "reading" if self._target is None else "indexing"
        return f"{what}, {self.settled.n_rejected:,} rejected" if self.settled.n_rejected else what
