"""Turns rows into what a store takes and what the idf counts: the part of ingest that any process can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.documents import Layout, record_of
from ingest.files import Row
from reranker.documents import EncodedDocument, id_hash
from reranker.embeddings import Embeddings
from reranker.hubness import SAMPLE_TOKENS, pack_first_words
from reranker.idf import DenseWeights, IdfTable
from reranker.stores.writing import PreparedDocument, Preparer
from reranker.tokens import tokenize


class CountedRow(NamedTuple):
    """What the document frequencies count of a row.

    Attributes:
        id_hash: 0 for a row that is no document.
        term_ids: distinct and ascending; None where the language is not counted.
    """

    id_hash: int
    language: str
    term_ids: NDArray[np.int32] | None


class EncodedRow(NamedTuple):
    """What came of a row.

    Attributes:
        row: without its contents where it is a document: whoever asked has them.
        first_words: what the hubness sample may take of it (`hubness.pack_first_words`); empty without a known one.
        document: None where the row is none, for `reason`.
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
            return CountedRow(0, "", None)
        term_ids = None
        if document.language in self._languages:
            term_ids = embeddings.bag(document.full_text, document.language).term_ids
        return CountedRow(id_hash(document.doc_id), document.language, term_ids)


class RowEncoder:
    """Makes of rows what a store takes.

    Args:
        prepare: None makes nothing of them beyond the check that they are documents.
    """

    def __init__(self, layout: Layout, idf: IdfTable, prepare: Preparer | None) -> None:
        self._layout = layout
        self._weights = {language: DenseWeights(figures) for language, figures in idf.languages.items()}
        self._without_figures = DenseWeights(None)
        self._versions = {language: idf.weights_version(language) for language in idf.languages}
        self._prepare = prepare

    def __call__(self, embeddings: Embeddings, rows: Sequence[Row]) -> list[EncodedRow]:
        return [self._encode(embeddings, row) for row in rows]

    def _encode(self, embeddings: Embeddings, row: Row) -> EncodedRow:
        record = record_of(row, self._layout)
        document = record.document
        if document is None:
            return EncodedRow(record.row, record.doc_id, 0, "", False, "", None, record.reason or "not a document")
        language = document.language
        tokens = tokenize(document.full_text, language)
        bag = embeddings.bag_of_tokens(tokens, language)
        first = embeddings.bag_of_tokens(tokens[:SAMPLE_TOKENS], language)
        if self._prepare is None:
            prepared = PreparedDocument(document.doc_id, None, 0)
        else:
            nbow = embeddings.nbow(self._weights.get(language, self._without_figures).weigh(bag))
            prepared = self._prepare(EncodedDocument(document, bag, nbow, self._versions.get(language, "")))
        first_words = pack_first_words(first) if len(first) else ""
        hashed = id_hash(document.doc_id)
        return EncodedRow(None, document.doc_id, hashed, language, len(bag) > 0, first_words, prepared, None)
