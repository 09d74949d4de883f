"""Turns rows into document frequencies and into documents for a store: the part of ingest that runs in all
processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
        counted = [one for one in documents if one is not None and one.language in self._languages]
        bags = iter(embeddings.bags([one.full_text for one in counted], [one.language for one in counted]))
        return [self._counted_row(document, bags) for document in documents]

    def _counted_row(self, document: Document | None, bags: Iterator[BagOfWords]) -> CountedRow:
        if document is None:
            return CountedRow(0, "", None)
        is_counted = document.language in self._languages
        term_ids = next(bags).term_ids.tobytes() if is_counted else None
        return CountedRow(id_hash(document.doc_id), document.language, term_ids)


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

    def __call__(self, embeddings: Embeddings, rows: Sequence[Row]) -> list[EncodedRow]:
        records = [record_of(row, self._layout) for row in rows]
        documents = [record.document for record in records if record.document is not None]
        languages = [document.language for document in documents]
        words = embeddings.bags_and_first_words([one.full_text for one in documents], languages, SAMPLE_TOKENS)
        nbows: Sequence[NDArray[np.float32] | None] = [None] * len(words)
        if self._prepare is not None:
            bags = [bag for bag, _ in words]
            nbows = embeddings.nbows(self._idf.weigh_all(list(zip(bags, languages, strict=True))))
        encoded = iter(zip(words, nbows, strict=True))
        return [
            self._rejected(record) if record.document is None else self._encoded(record.document, *next(encoded))
            for record in records
        ]

    def _rejected(self, record: Record) -> EncodedRow:
        return EncodedRow(record.row, record.doc_id, 0, "", False, "", None, record.reason or "not a document")

    def _encoded(
        self, document: Document, words: tuple[BagOfWords, BagOfWords], nbow: NDArray[np.float32] | None
    ) -> EncodedRow:
        language, (bag, first) = document.language, words
        if self._prepare is None:
            prepared = PreparedDocument(document.doc_id, None, 0)
        else:
            prepared = self._prepare(EncodedDocument(document, bag, nbow, self._versions.get(language, "")))
        first_words = pack_first_words(first) if len(first) else ""
        hashed = id_hash(document.doc_id)
        return EncodedRow(None, document.doc_id, hashed, language, len(bag) > 0, first_words, prepared, None)
