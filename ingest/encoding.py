"""Turns rows into document frequencies and into documents for a store: the part of ingest that runs in all
processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ingest.bag_file import pack_words, unpack_words
from ingest.documents import Layout, Record, record_of
from ingest.files import Row
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_TOKENS, pack_first_words
from reranker.stores.base.writing import PreparedDocument, Preparer
from reranker.text.bags import BagOfWords
from reranker.text.documents import Document, EncodedDocument, id_hash
from reranker.text.idf import IdfTable

if TYPE_CHECKING:
    from ingest.ray_workers import RayWorkers
    from ingest.workers import Workers


EncodingWorkers: TypeAlias = "Workers[Embeddings] | RayWorkers[Embeddings]"
"""Processes, or Ray workers, that share the embeddings and call the functions of this module."""


_Words: TypeAlias = tuple[BagOfWords, str]
"""The bag of a document, and its first words for the hubness sample (empty without a known word)."""


class CountedRow(NamedTuple):
    """A row as it counts for the document frequencies.

    Attributes:
        id_hash: 0 if the row is not a document.
        term_ids: int32, distinct and ascending; None if its language is not counted. As bytes, which can be sent to
            another process in a tenth of the time of an array.
        words: the words that its encoding needs (`bag_file.pack_words`); empty if its language is not counted.
    """

    id_hash: int
    language: str
    term_ids: bytes | None
    words: bytes


class EncodedRow(NamedTuple):
    """The result of a row.

    Attributes:
        row: the rejected row; None for a document, whose row the caller has.
        first_words: first words for the hubness sample (`hubness.pack_first_words`); empty without a known word.
        document: None if the row was rejected, for `reason`.
    """

    row: Row | None
    doc_id: str | None
    id_hash: int
    language: str
    has_known_words: bool
    first_words: str
    document: PreparedDocument | None
    reason: str | None


class RowCounter:
    """Counts the words of rows in some languages."""

    def __init__(self, layout: Layout, languages: Sequence[str]) -> None:
        self._layout = layout
        self._languages = frozenset(languages)

    def __call__(self, embeddings: Embeddings, rows: Sequence[Row]) -> list[CountedRow]:
        documents = [record_of(row, self._layout).document for row in rows]
        counted = [one if one is not None and one.language in self._languages else None for one in documents]
        return list(map(_counted_row, documents, _words(embeddings, counted)))


def _counted_row(document: Document | None, words: _Words | None) -> CountedRow:
    if document is None:
        return CountedRow(0, "", None, b"")
    hashed = id_hash(document.doc_id)
    if words is None:
        return CountedRow(hashed, document.language, None, b"")
    return CountedRow(hashed, document.language, words[0].term_ids.tobytes(), pack_words(*words))


class RowEncoder:
    """Turns rows into documents for a store.

    Args:
        prepare: the store's function; None only checks the documents.
    """

    def __init__(self, layout: Layout, idf: IdfTable, prepare: Preparer | None) -> None:
        self._layout = layout
        self._idf = idf
        self._versions = {language: idf.weights_version(language) for language in idf.languages}
        self._prepare = prepare

    def __call__(self, embeddings: Embeddings, piece: tuple[Sequence[Row], Sequence[bytes]]) -> list[EncodedRow]:
        """
        Args:
            piece: rows, and the words of the first rows if they are known (`CountedRow.words`).
        """
        rows, known = piece
        records = [record_of(row, self._layout) for row in rows]
        words = _words(embeddings, [record.document for record in records], known)
        nbows = self._nbows(embeddings, records, words)
        return [self._encoded_row(*parts) for parts in zip(records, words, nbows, strict=True)]

    def _nbows(
        self, embeddings: Embeddings, records: Sequence[Record], words: Sequence[_Words | None]
    ) -> list[NDArray[np.float32] | None]:
        if self._prepare is None:
            return [None] * len(records)
        found = zip(records, words, strict=True)
        bags = [(own[0], record.document.language) for record, own in found if record.document and own]
        nbows = iter(embeddings.nbows(self._idf.weigh_all(bags)))
        return [None if own is None else next(nbows) for own in words]

    def _encoded_row(self, record: Record, words: _Words | None, nbow: NDArray[np.float32] | None) -> EncodedRow:
        document = record.document
        if document is None or words is None:
            return EncodedRow(record.row, record.doc_id, 0, "", False, "", None, record.reason or "not a document")
        language, (bag, first_words) = document.language, words
        if self._prepare is None:
            prepared = PreparedDocument(document.doc_id, None, 0)
        else:
            prepared = self._prepare(EncodedDocument(document, bag, nbow, self._versions.get(language, "")))
        hashed = id_hash(document.doc_id)
        return EncodedRow(None, document.doc_id, hashed, language, len(bag) > 0, first_words, prepared, None)


def _words(
    embeddings: Embeddings, documents: Sequence[Document | None], known: Sequence[bytes] = ()
) -> list[_Words | None]:
    """The words of each document; None where there is none.

    Args:
        known: of the first ones (`CountedRow.words`).
    """
    given = [*known, *[b""] * (len(documents) - len(known))]
    new = [one for one, own in zip(documents, given, strict=True) if one is not None and not own]
    texts, languages = [one.full_text for one in new], [one.language for one in new]
    read = iter(embeddings.bags_and_first_words(texts, languages, SAMPLE_TOKENS))
    found: list[_Words | None] = []
    for document, own in zip(documents, given, strict=True):
        if document is None or own:
            found.append(None if document is None else unpack_words(own))
        else:
            bag, first = next(read)
            found.append((bag, pack_first_words(first) if len(first) else ""))
    return found
