"""Turns rows into document frequencies and into documents for a store: the part of ingest that runs in all
processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ingest.documents import Layout, Record, record_of
from ingest.files import Row
from reranker.embeddings import Embeddings
from reranker.stores.base.writing import PreparedDocument, Preparer
from reranker.text.documents import EncodedDocument, id_hash
from reranker.text.idf import IdfTable

if TYPE_CHECKING:
    from ingest.ray_workers import RayWorkers
    from ingest.workers import Workers


EncodingWorkers: TypeAlias = "Workers[RowReader] | RayWorkers[RowReader]"
"""Processes, or Ray workers, that have a reader each and call the functions of this module."""

# Of the rows that a process reads in advance: 20,000 of 1 kB. What is kept of them takes some two times as much.
_READ_AHEAD_BYTES = 40 * 2**20
# What a document and its bag take, besides what grows with its text.
_BYTES_A_ROW = 1_000


class CountedRow(NamedTuple):
    """A row as it counts for the document frequencies.

    Attributes:
        id_hash: 0 if the row is not a document.
        term_ids: int32, distinct and ascending; None if its language is not counted. As bytes, which can be sent to
            another process in a tenth of the time of an array.
    """

    id_hash: int
    language: str
    term_ids: bytes | None


class EncodedRow(NamedTuple):
    """The result of a row, which the caller has.

    Attributes:
        document: None if the row was rejected.
        reason: why; empty for a document.
    """

    doc_id: str | None
    id_hash: int
    language: str
    has_known_words: bool
    document: PreparedDocument | None
    reason: str = ""


class RowReader:
    """Reads the documents of rows and their words, without a vector; a row that is no document gets its record.

    What is read in advance is kept, so that an input whose words are counted first is read once, up to a bound of
    memory. Rows beyond it are read again.
    """

    def __init__(self, embeddings: Embeddings, layout: Layout) -> None:
        self.embeddings = embeddings
        self._layout = layout
        self._bytes_left = _READ_AHEAD_BYTES
        self._read_ahead: dict[tuple[tuple[str, int], ...], list[EncodedDocument | Record]] = {}

    def read(self, rows: Sequence[Row]) -> list[EncodedDocument | Record]:
        """Reads the rows of a piece, or gives what was kept of them, which is then kept no longer."""
        return self._read_ahead.pop(_places(rows), None) or self._read(rows)

    def read_ahead(self, rows: Sequence[Row]) -> list[EncodedDocument | Record]:
        """Reads the rows of a piece that will be read again."""
        read = self._read(rows)
        if self._bytes_left > 0:
            self._bytes_left -= sum(_BYTES_A_ROW + len(row.raw) for row in rows)
            self._read_ahead[_places(rows)] = read
        return read

    def _read(self, rows: Sequence[Row]) -> list[EncodedDocument | Record]:
        records = [record_of(row, self._layout) for row in rows]
        documents = [record.document for record in records if record.document is not None]
        texts, languages = [one.full_text for one in documents], [one.language for one in documents]
        bags = iter(self.embeddings.bags(texts, languages))
        return [
            record if record.document is None else EncodedDocument(record.document, next(bags)) for record in records
        ]


def _places(rows: Sequence[Row]) -> tuple[tuple[str, int], ...]:
    """Where rows stand in the input, which does not change while it is read."""
    return tuple([(row.file, row.line) for row in rows])


class RowCounter:
    """Counts the words of rows in some languages."""

    def __init__(self, languages: Sequence[str]) -> None:
        self._languages = frozenset(languages)

    def __call__(self, reader: RowReader, rows: Sequence[Row]) -> list[CountedRow]:
        return list(map(self._counted, reader.read_ahead(rows)))

    def _counted(self, read: EncodedDocument | Record) -> CountedRow:
        if isinstance(read, Record):
            return CountedRow(0, "", None)
        language = read.document.language
        term_ids = read.bag.term_ids.tobytes() if language in self._languages else None
        return CountedRow(id_hash(read.document.doc_id), language, term_ids)


class RowEncoder:
    """Turns rows into documents for a store.

    Args:
        prepare: the store's function; None only checks the documents.
    """

    def __init__(self, idf: IdfTable, prepare: Preparer | None) -> None:
        self._idf = idf
        self._versions = {language: idf.weights_version(language) for language in idf.languages}
        self._prepare = prepare

    def __call__(self, reader: RowReader, rows: Sequence[Row]) -> list[EncodedRow]:
        read = reader.read(rows)
        nbows: Iterator[NDArray[np.float32] | None] = repeat(None)
        if self._prepare is not None:
            bags = [(one.bag, one.document.language) for one in read if isinstance(one, EncodedDocument)]
            nbows = iter(reader.embeddings.nbows(self._idf.weigh_all(bags)))
        return [_rejected(one) if isinstance(one, Record) else self._encoded(one, next(nbows)) for one in read]

    def _encoded(self, read: EncodedDocument, nbow: NDArray[np.float32] | None) -> EncodedRow:
        doc_id, language = read.document.doc_id, read.document.language
        if self._prepare is None:
            prepared = PreparedDocument(doc_id, None, 0)
        else:
            prepared = self._prepare(replace(read, nbow=nbow, weights_version=self._versions.get(language, "")))
        return EncodedRow(doc_id, id_hash(doc_id), language, len(read.bag) > 0, prepared)


def _rejected(record: Record) -> EncodedRow:
    return EncodedRow(record.doc_id, 0, "", False, None, record.reason or "not a document")
