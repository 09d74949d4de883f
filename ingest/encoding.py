"""Turns rows into document frequencies and into documents for a store: the part of ingest that runs in all
processes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, filterfalse, islice, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ingest.bag_file import pack_words, unpack_words
from ingest.documents import Layout, record_of
from ingest.files import Row
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_TOKENS, pack_first_words
from reranker.stores.base.writing import PreparedDocument, Preparer
from reranker.text.bags import BagOfWords
from reranker.text.documents import Document, EncodedDocument, id_hash
from reranker.text.idf import IdfTable
from reranker.text.tokens import has_digit, tokenize

if TYPE_CHECKING:
    from ingest.ray_workers import RayWorkers
    from ingest.workers import Workers


EncodingWorkers: TypeAlias = "Workers[Embeddings] | RayWorkers[Embeddings]"
"""Processes, or Ray workers, that share the embeddings and call the functions of this module."""


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
        return [self._count(embeddings, row) for row in rows]

    def _count(self, embeddings: Embeddings, row: Row) -> CountedRow:
        document = record_of(row, self._layout).document
        if document is None:
            return CountedRow(0, "", None, b"")
        hashed = id_hash(document.doc_id)
        if document.language not in self._languages:
            return CountedRow(hashed, document.language, None, b"")
        bag, first_words = _words(embeddings, document)
        return CountedRow(hashed, document.language, bag.term_ids.tobytes(), pack_words(bag, first_words))


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
        rows, words = piece
        known = chain(words, repeat(b""))
        return [self._encode(embeddings, row, next(known)) for row in rows]

    def _encode(self, embeddings: Embeddings, row: Row, words: bytes) -> EncodedRow:
        record = record_of(row, self._layout)
        document = record.document
        if document is None:
            return EncodedRow(record.row, record.doc_id, 0, "", False, "", None, record.reason or "not a document")
        language = document.language
        bag, first_words = unpack_words(words) if words else _words(embeddings, document)
        if self._prepare is None:
            prepared = PreparedDocument(document.doc_id, None, 0)
        else:
            nbow = embeddings.nbow(self._idf.weigh(bag, language))
            prepared = self._prepare(EncodedDocument(document, bag, nbow, self._versions.get(language, "")))
        hashed = id_hash(document.doc_id)
        return EncodedRow(None, document.doc_id, hashed, language, len(bag) > 0, first_words, prepared, None)


def _words(embeddings: Embeddings, document: Document) -> tuple[BagOfWords, str]:
    """The bag of a document, and its first words for the hubness sample (empty without a known word)."""
    tokens = tokenize(document.full_text, document.language)
    first = embeddings.bag_of_tokens(islice(filterfalse(has_digit, tokens), SAMPLE_TOKENS), document.language)
    return embeddings.bag_of_tokens(tokens, document.language), pack_first_words(first) if len(first) else ""
