"""Streams encoded rows into a store, and says what became of each row."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence, Set
from contextlib import closing

from ingest.documents import Layout, read_row
from ingest.encoding import EncodedRow, EncodingWorkers, RowEncoder
from ingest.files import Row, in_pieces
from ingest.progress import Progress
from ingest.rejects import RejectFile
from ingest.sampling import SmallestIds, add_smallest
from ingest.seen_ids import SeenIds
from reranker.base.errors import NotFound, StoreUnavailable
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import PreparedDocument, WriteResult

# Often enough for a smooth progress bar, and rare enough to cost nothing.
_ROWS_A_REPORT = 50


class Writing:
    """Writes the rows of an input. Rejected rows go to their file at once; documents wait for the store's answer.

    Attributes:
        n_already_there: documents that the index had before this run.
        languages: number of documents in the index, by language.
    """

    def __init__(
        self,
        store: WritableStore,
        target: str | None,
        rejects: RejectFile,
        ids: SmallestIds,
        progress: Progress,
        layout: Layout,
        *,
        n_rows: int | None = None,
        is_continued: bool = False,
    ) -> None:
        """
        Args:
            target: the index; None writes nothing and counts every document as written.
            ids: gets the documents that are in the index.
            layout: which fields of a row are the parts of a document.
            n_rows: number of rows of the input, if known.
            is_continued: whether the index may have some of the documents; these are not written again.
        """
        self.n_rejected = 0
        self.n_without_known_words = 0
        self.n_already_there = 0
        self.languages: Counter[str] = Counter()
        self._store = store
        self._target = target
        self._rejects = rejects
        self._ids = ids
        self._progress = progress
        self._layout = layout
        self._total = n_rows
        self._earlier = store.open(target) if is_continued and target is not None else None
        self._waiting: deque[tuple[Row, EncodedRow]] = deque()

    @property
    def n_indexed(self) -> int:
        return self.languages.total()

    @property
    def n_settled(self) -> int:
        """Number of rows that are in the index or rejected."""
        return self.n_indexed + self.n_rejected

    @property
    def n_unconfirmed(self) -> int:
        """Number of rows that were read and are neither confirmed in the index nor rejected."""
        return len(self._waiting)

    def write(self, rows: Iterable[Row], seen: SeenIds, encoder: RowEncoder, workers: EncodingWorkers) -> str | None:
        """Writes the rows. Returns why it ended early, or None."""
        with closing(self._documents(rows, seen, encoder, workers)) as documents:
            try:
                for result in self._results(documents):
                    self._settle(result)
                if self._waiting:
                    raise StoreUnavailable(f"{self._store.address} did not answer for {len(self._waiting)} documents")
            except (StoreUnavailable, NotFound) as error:  # the index may be deleted during the run
                return str(error)
        self._progress(self.n_settled, self.n_settled, self._description())
        return None

    def _results(self, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        if self._target is not None:
            return self._store.write_prepared(self._target, documents)
        return (WriteResult(document.doc_id) for document in documents)

    def _documents(
        self, rows: Iterable[Row], seen: SeenIds, encoder: RowEncoder, workers: EncodingWorkers
    ) -> Generator[PreparedDocument, None, None]:
        """Yields the documents to write. All other rows are settled."""
        first_row = 0
        for piece, encoded_rows in workers.map(encoder, in_pieces(rows)):
            are_first = seen.are_first([encoded.id_hash for encoded in encoded_rows], first_row)
            already_there = self._already_there(encoded_rows)
            first_row += len(piece)
            for row, encoded, is_first in zip(piece, encoded_rows, are_first, strict=True):
                if encoded.document is None:
                    self._reject(row, encoded.doc_id, encoded.reason)
                elif not is_first:
                    reason = f"the id {encoded.doc_id!r} occurred before in this input; give each document its own"
                    self._reject(row, encoded.doc_id, reason)
                elif encoded.doc_id in already_there:
                    self.n_already_there += 1
                    self._count(encoded)
                else:
                    self._waiting.append((row, encoded))
                    yield encoded.document

    def _already_there(self, encoded_rows: Sequence[EncodedRow]) -> Set[str]:
        """The ids of the documents that the index has."""
        if self._earlier is None:
            return frozenset()
        documents = (encoded.document for encoded in encoded_rows)
        return self._earlier.stored([document.doc_id for document in documents if document is not None])

    def _settle(self, result: WriteResult) -> None:
        """Takes the store's answer for the first document that waits."""
        row, encoded = self._waiting.popleft()
        if result.doc_id != encoded.doc_id:
            raise StoreUnavailable(f"{self._store.address} answered for {result.doc_id!r} before {encoded.doc_id!r}")
        if result.error is not None:
            self._reject(row, encoded.doc_id, result.error)
        else:
            self._count(encoded)

    def _count(self, encoded: EncodedRow) -> None:
        self.languages[encoded.language] += 1
        self.n_without_known_words += not encoded.has_known_words
        if encoded.has_known_words and encoded.document is not None:
            add_smallest(self._ids, encoded.language, encoded.document.doc_id, encoded.id_hash)
        self._report()

    def _reject(self, row: Row, doc_id: str | None, reason: str) -> None:
        self._rejects.add(read_row(row, self._layout), doc_id, reason)
        self.n_rejected += 1
        self._report()

    def _report(self) -> None:
        n_rows = self.n_settled
        if n_rows % _ROWS_A_REPORT == 0:
            self._progress(n_rows, self._total, self._description())

    def _description(self) -> str:
        what = "reading" if self._target is None else "indexing"
        return f"{what}, {self.n_rejected:,} rejected" if self.n_rejected else what
