"""Turns encoded documents into rows of the embedded store and back, and writes, replaces and deletes rows."""

# ruff: noqa: S608 - the SQL is built of table names, which are made of our own numbers, columns and placeholders

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.stores.base.checks import MAX_FILTERABLE_LENGTH
from reranker.stores.base.filters import Scalar
from reranker.stores.base.writing import NewVector
from reranker.stores.embedded.row_sums import check_row, row_sum
from reranker.stores.embedded.terms import bm25_terms
from reranker.text.bags import pack
from reranker.text.documents import Document, EncodedDocument

DOCUMENT_COLUMNS = (
    "row_id, documents.index_id, partition_id, language, doc_id, documents.row_sum, text_sum, bag, title, url, "
    "metadata, text"
)
"""Of documents joined with their partitions; `read_document` reads them."""

VECTOR_COLUMNS = "row_id, index_id, change, nbow, weights, row_sum"
"""`read_vector_row` reads them."""

_NEXT_ROW_ID = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'documents'"


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """The values of a document's rows.

    Attributes:
        terms: its BM25 terms, separated by spaces.
        facets: (field, text, number) of each value that filters can find; text or number is None.
    """

    doc_id: str
    language: str
    title: str
    text: str
    url: str
    metadata: str
    bag: str
    nbow: bytes | None
    weights: str
    terms: str
    facets: tuple[tuple[str, str | None, float | None], ...]

    @property
    def n_bytes(self) -> int:
        """About its size in memory."""
        return 3 * len(self.text) + 2 * len(self.terms) + len(self.metadata) + len(self.bag)


def prepare(encoded: EncodedDocument) -> PreparedRow:
    """Makes the row of a document."""
    document = encoded.document
    return PreparedRow(
        doc_id=document.doc_id,
        language=document.language,
        title=document.title,
        text=document.text,
        url=document.url,
        metadata=json.dumps(dict(document.metadata), ensure_ascii=False, allow_nan=False),
        bag=pack(encoded.bag),
        nbow=pack_vector(encoded.nbow),
        weights=encoded.weights_version,
        terms=" ".join(bm25_terms(document.full_text, document.language)),
        facets=tuple(_facets(document.metadata)),
    )


def read_document(row: tuple[Any, ...]) -> tuple[int, Document, str]:
    """Returns row id, document and packed bag of a row of `DOCUMENT_COLUMNS`.

    Raises:
        StoreDamaged: the row is damaged.
    """
    row_id, index_id, partition_id, language, doc_id, found, text_found, bag, title, url, metadata, text = row
    check_row(found, "documents", row_id, (row_id, index_id, partition_id), language, doc_id, bag, title)
    check_row(text_found, "documents", row_id, (row_id,), url, metadata, text)
    return row_id, Document(doc_id, text, language, title, url, json.loads(metadata)), bag


def pack_vector(vector: NDArray[np.float32] | None) -> bytes | None:
    """Packs a vector for `vectors.nbow`."""
    return None if vector is None else np.asarray(vector, dtype="<f4").tobytes()


def facet_text(value: Scalar) -> str:
    """Returns a value as filters compare it with texts. A boolean equals the string `true` or `false`, as in
    engines."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_row(connection: sqlite3.Connection, index_id: int, change: int, row: PreparedRow) -> bool:
    """Adds a document, or replaces the one with its id and keeps the row id. Returns True: it is there."""
    partition_id = _partition(connection, index_id, row.language)
    found = connection.execute(
        "SELECT row_id, partition_id FROM documents WHERE index_id = ? AND doc_id = ?", (index_id, row.doc_id)
    ).fetchone()
    if found:
        row_id = int(found[0])
        connection.execute(f"DELETE FROM {words_table(found[1])} WHERE rowid = ?", (row_id,))
        connection.execute("DELETE FROM facets WHERE row_id = ?", (row_id,))
        sql = (
            "UPDATE documents SET partition_id = ?, row_sum = ?, text_sum = ?, bag = ?, title = ?, url = ?, "
            "metadata = ?, text = ? WHERE index_id = ? AND doc_id = ? AND row_id = ?"
        )
    else:
        (row_id,) = connection.execute(_NEXT_ROW_ID).fetchone()
        sql = (
            "INSERT INTO documents (partition_id, row_sum, text_sum, bag, title, url, metadata, text, index_id, "
            "doc_id, row_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
    found_sum = row_sum((row_id, index_id, partition_id), row.language, row.doc_id, row.bag, row.title)
    text_sum = row_sum((row_id,), row.url, row.metadata, row.text)
    values = (partition_id, found_sum, text_sum, row.bag, row.title, row.url, row.metadata, row.text)
    connection.execute(sql, (*values, index_id, row.doc_id, row_id))
    connection.execute(f"INSERT INTO {words_table(partition_id)} (rowid, terms) VALUES (?, ?)", (row_id, row.terms))
    _write_vector(connection, row_id, index_id, change, row.nbow, row.weights)
    connection.executemany(
        "INSERT INTO facets VALUES (?, ?, ?, ?, ?)", [(index_id, row_id, *facet) for facet in row.facets]
    )
    return True


def delete_row(connection: sqlite3.Connection, index_id: int, change: int, doc_id: str) -> bool:
    """Deletes a document. Returns whether it existed. Its row stays in `vectors`, without a vector, so that processes
    remove it from the vectors in their memory."""
    found = connection.execute(
        "SELECT row_id, partition_id FROM documents WHERE index_id = ? AND doc_id = ?", (index_id, doc_id)
    ).fetchone()
    if found is None:
        return False
    row_id, partition_id = found
    connection.execute(f"DELETE FROM {words_table(partition_id)} WHERE rowid = ?", (row_id,))
    connection.execute("DELETE FROM facets WHERE row_id = ?", (row_id,))
    connection.execute("DELETE FROM documents WHERE row_id = ?", (row_id,))
    _write_vector(connection, row_id, index_id, change, None, "")
    return True


def replace_vector(connection: sqlite3.Connection, index_id: int, change: int, vector: NewVector) -> bool:
    """Replaces a document's vector. Returns whether the document is still what it was, except for its text."""
    found = connection.execute(
        "SELECT row_id FROM documents WHERE index_id = ? AND doc_id = ? AND row_sum = ?",
        (index_id, vector.doc_id, *vector.revision),
    ).fetchone()
    if found is not None:
        _write_vector(connection, found[0], index_id, change, pack_vector(vector.nbow), vector.weights_version)
    return found is not None


def read_vector_row(row: tuple[Any, ...]) -> tuple[int, bytes | None]:
    """Returns row id and packed vector of a row of `VECTOR_COLUMNS`.

    Raises:
        StoreDamaged: the row is damaged.
    """
    row_id, index_id, change, nbow, weights, found = row
    check_row(found, "vectors", row_id, (row_id, index_id, change), weights, blobs=_blobs(nbow))
    return row_id, nbow


def _write_vector(
    connection: sqlite3.Connection, row_id: int, index_id: int, change: int, nbow: bytes | None, weights: str
) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO vectors ({VECTOR_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        (
            *(row_id, index_id, change, nbow, weights),
            row_sum((row_id, index_id, change), weights, blobs=_blobs(nbow)),
        ),
    )


def _blobs(nbow: bytes | None) -> tuple[bytes, ...]:
    return () if nbow is None else (nbow,)


def words_table(partition_id: int) -> str:
    """Returns the name of a partition's full-text table, made of our own number."""
    return f"words_{int(partition_id)}"


def vocabulary_table(partition_id: int) -> str:
    """Returns the name of the table of a partition's document frequencies, a view of its full-text table."""
    return f"vocabulary_{int(partition_id)}"


def _partition(connection: sqlite3.Connection, index_id: int, language: str) -> int:
    found = connection.execute(
        "SELECT partition_id FROM partitions WHERE index_id = ? AND language = ?", (index_id, language)
    ).fetchone()
    if found:
        return int(found[0])
    made = connection.execute("INSERT INTO partitions (index_id, language) VALUES (?, ?)", (index_id, language))
    partition_id = int(made.lastrowid or 0)
    connection.execute(
        "UPDATE partitions SET row_sum = ? WHERE partition_id = ?",
        (row_sum((partition_id, index_id), language), partition_id),
    )
    # The terms are tokens of letters, digits, points and commas. So FTS5 has to split only at spaces.
    connection.execute(
        f"CREATE VIRTUAL TABLE {words_table(partition_id)} USING fts5 (terms, tokenize = \"ascii tokenchars '.,'\")"
    )
    connection.execute(
        f"CREATE VIRTUAL TABLE {vocabulary_table(partition_id)} USING fts5vocab ({words_table(partition_id)}, row)"
    )
    return partition_id


def _facets(value: Any, field: str = "") -> Iterator[tuple[str, str | None, float | None]]:
    """Yields each value of the metadata with its dotted name, and each element of a list, as an engine does."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _facets(inner, f"{field}.{name}" if field else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _facets(inner, field)
    elif isinstance(value, bool) or (isinstance(value, str) and len(value) <= MAX_FILTERABLE_LENGTH):
        yield field, facet_text(value), None
    elif isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        yield field, None, float(value)
