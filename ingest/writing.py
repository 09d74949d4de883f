"""Streams encoded rows into a store and settles them in the order of the input."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.encoding import EncodedRow, EncodingWorkers, RowEncoder
from ingest.files import Row
from ingest.pieces import in_pieces
from ingest.progress import Progress
from ingest.rejects import RejectFile
from ingest.seen_ids import SeenIds
from reranker.base.errors import NotFound, StoreUnavailable
from reranker.embeddings.hubness import HubnessSampleBuilder
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import PreparedDocument, Writable, WriteResult

# Often enough for a smooth progress bar, and rare enough to cost nothing.
_ROWS_A_REPORT = 50
# Rejected rows wait for the documents before them. After so many, the store sends its documents at once.
_MAX_WAITING_ROWS = 10_000


@dataclass(slots=True)
class Settled:
    """What became of the rows so far.

    Attributes:
        n_rows: number of rows that are in the index or rejected.
        n_already_there: documents that the index had before this run.
        languages: number of documents in the index, by language.
    """

    n_rows: int = 0
    n_rejected: int = 0
    n_without_known_words: int = 0
    n_already_there: int = 0
    languages: Counter[str] = field(default_factory=Counter)

    @property
    def n_indexed(self) -> int:
        return self.languages.total()


class _Waiting(NamedTuple):
    """A row that is not settled yet.

    Attributes:
        is_there: whether its document is in the index already, so that no result will come.
    """

    row: Row
    encoded: EncodedRow
    is_there: bool


class Writing:
    """Writes the rows of an input.

    Attributes:
        settled: what became of the rows so far.
    """

    def __init__(
        self,
        store: WritableStore,
        target: str | None,
        rejects: RejectFile,
        sample: HubnessSampleBuilder,
        progress: Progress,
        *,
        n_rows: int | None = None,
        is_continued: bool = False,
    ) -> None:
        """
        Args:
            target: the index; None writes nothing and counts every document as written.
            sample: gets the words of the documents that are in the index.
            n_rows: number of rows of the input, if known.
            is_continued: whether the index may have some of the documents; these are not written again.
        """
        self._store = store
        self._target = target
        self._rejects = rejects
        self._sample = sample
        self._progress = progress
        self._total = n_rows
        self._earlier = store.open(target) if is_continued and target is not None else None
        self._waiting: deque[_Waiting] = deque()
        self._n_on_their_way = 0
        self.settled = Settled()

    @property
    def n_unconfirmed(self) -> int:
        """Number of rows that were read and are neither confirmed in the index nor rejected."""
        return len(self._waiting)

    def write(self, rows: Iterable[Row], seen: SeenIds, encoder: RowEncoder, workers: EncodingWorkers) -> str | None:
        """Writes the rows. Returns why it ended early, or None."""
        with closing(self._documents(rows, seen, encoder, workers)) as documents:
            try:
                for result in self._results(documents):
                    self._settle_document(result)
                if self._waiting:
                    raise StoreUnavailable(f"{self._store.address} did not answer for {len(self._waiting)} documents")
            except (StoreUnavailable, NotFound) as error:  # the index may be deleted during the run
                return str(error)
        self._progress(self.settled.n_rows, self.settled.n_rows, self._description())
        return None

    def _results(self, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        if self._target is not None:
            return self._store.write_prepared(self._target, documents)
        return (WriteResult(document.doc_id) for document in documents if document is not None)

    def _documents(
        self, rows: Iterable[Row], seen: SeenIds, encoder: RowEncoder, workers: EncodingWorkers
    ) -> Generator[PreparedDocument | None, None, None]:
        first_row = 0
        for piece, encoded_rows in workers.map(encoder, in_pieces(rows)):
            are_first = seen.are_first([encoded.id_hash for encoded in encoded_rows], first_row)
            are_there = self._are_there(encoded_rows)
            first_row += len(piece)
            for row, encoded, is_first, is_there in zip(piece, encoded_rows, are_first, are_there, strict=True):
                if not is_first:
                    reason = f"the id {encoded.doc_id!r} occurred before in this input; give each document its own"
                    encoded = encoded._replace(reason=reason)
                self._waiting.append(_Waiting(encoded.row or row, encoded, is_there))
                if encoded.reason is None and not is_there:
                    self._n_on_their_way += 1
                    yield encoded.document
                elif not self._n_on_their_way:
                    self._settle_front()
                elif len(self._waiting) % _MAX_WAITING_ROWS == 0:
                    yield None

    def _are_there(self, encoded_rows: Sequence[EncodedRow]) -> list[bool]:
        """Whether the index has the document of each row."""
        if self._earlier is None:
            return [False] * len(encoded_rows)
        doc_ids = [encoded.doc_id for encoded in encoded_rows if encoded.reason is None and encoded.doc_id is not None]
        found = self._earlier.stored(doc_ids)
        return [encoded.reason is None and encoded.doc_id in found for encoded in encoded_rows]

    def _settle_document(self, result: WriteResult) -> None:
        row, encoded, _ = self._waiting.popleft()
        if result.doc_id != encoded.doc_id:
            raise StoreUnavailable(f"{self._store.address} answered for {result.doc_id!r} before {encoded.doc_id!r}")
        self._n_on_their_way -= 1
        if result.error is not None:
            self._reject(row, encoded.doc_id, result.error)
        else:
            self._settle_indexed(encoded)
        self._settle_front()

    def _settle_front(self) -> None:
        """Settles the rows at the front of the queue that wait for no result."""
        while self._waiting:
            row, encoded, is_there = self._waiting[0]
            if encoded.reason is None and not is_there:
                return
            self._waiting.popleft()
            if encoded.reason is not None:
                self._reject(row, encoded.doc_id, encoded.reason)
            else:
                self.settled.n_already_there += 1
                self._settle_indexed(encoded)

    def _settle_indexed(self, encoded: EncodedRow) -> None:
        self.settled.languages[encoded.language] += 1
        self.settled.n_without_known_words += not encoded.has_known_words
        if encoded.first_words:
            self._sample.add_packed(encoded.language, encoded.id_hash, encoded.first_words)
        self._settled_one()

    def _reject(self, row: Row, doc_id: str | None, reason: str) -> None:
        self._rejects.add(row, doc_id, reason)
        self.settled.n_rejected += 1
        self._settled_one()

    def _settled_one(self) -> None:
        self.settled.n_rows += 1
        if self.settled.n_rows % _ROWS_A_REPORT == 0:
            self._progress(self.settled.n_rows, self._total, self._description())

    def _description(self) -> str:
        what = "reading" if self._target is None else "indexing"
        return f"{what}, {self.settled.n_rejected:,} rejected" if self.settled.n_rejected else what
