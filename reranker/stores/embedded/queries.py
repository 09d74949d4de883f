"""The embedded store's SQL for filters, candidates and documents. Every value of a request is a bound
parameter."""

# ruff: noqa: S608 - the SQL is built of table names, which are made of our own numbers, columns and placeholders

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.base.strict_json import finite
from reranker.stores.base.filters import Filters, Range, Scalar
from reranker.stores.embedded.row_sums import check_row, wrong_row
from reranker.stores.embedded.rows import DOCUMENT_COLUMNS, facet_text, read_document
from reranker.text.bags import unpack
from reranker.text.documents import Candidate, Document
from reranker.text.exact_text import exact_key

SELECT_DOCUMENTS = f"SELECT {DOCUMENT_COLUMNS} FROM documents JOIN partitions USING (partition_id)"

_OPERATORS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


def allowed_rows(connection: sqlite3.Connection, index_id: int, filters: Filters) -> NDArray[np.int64] | None:
    """Returns the row ids that pass the filters; None if there is no filter."""
    # The database index of each part contains the row ids, so that SQLite reads no document.
    parts: list[str] = []
    parameters: list[Any] = []
    for field, condition in filters.metadata.items():
        either = []
        for sql, values in _conditions(condition):
            either.append(f"SELECT row_id FROM facets WHERE index_id = ? AND field = ? AND {sql}")
            parameters += [index_id, field, *values]
        parts.append(f"SELECT DISTINCT row_id FROM ({' UNION ALL '.join(either)})")
    if filters.languages:
        partitions = (
            f"SELECT partition_id FROM partitions WHERE index_id = ? AND language IN ({_marks(filters.languages)})"
        )
        parts.append(f"SELECT row_id FROM documents WHERE partition_id IN ({partitions})")
        parameters += [index_id, *filters.languages]
    if not parts:
        return None
    rows = connection.execute(" INTERSECT ".join(parts), parameters)
    return np.array([row_id for (row_id,) in rows], dtype=np.int64)


def candidates_of_rows(connection: sqlite3.Connection, scored: Sequence[tuple[int, float]]) -> list[Candidate]:
    """Returns the documents of rows as candidates with their scores, in the given order.

    Args:
        scored: row ids and scores.
    """
    # These columns precede the text, so SQLite reads only the first page of a long document.
    rows = connection.execute(
        "SELECT row_id, documents.row_sum, documents.index_id, partition_id, language, doc_id, bag, title "
        "FROM documents JOIN partitions USING (partition_id) WHERE row_id IN (SELECT value FROM json_each(?))",
        (json.dumps([row_id for row_id, _ in scored]),),
    )
    found = {}
    for row_id, found_sum, index_id, partition_id, language, doc_id, bag, title in rows:
        check_row(found_sum, "documents", row_id, (row_id, index_id, partition_id), language, doc_id, bag, title)
        found[row_id] = (doc_id, language, unpack(bag), exact_key(title))
    candidates = []
    for rank, (row_id, score) in enumerate(scored, start=1):
        if row_id not in found:
            raise wrong_row("documents", row_id)
        candidates.append(Candidate(*found[row_id][:3], score, rank, found[row_id][3]))
    return candidates


def documents_by_id(connection: sqlite3.Connection, index_id: int, doc_ids: Sequence[str]) -> dict[str, Document]:
    """Returns the documents with these ids, without missing ones."""
    rows = connection.execute(
        f"{SELECT_DOCUMENTS} WHERE documents.index_id = ? AND doc_id IN (SELECT value FROM json_each(?))",
        (index_id, json.dumps(doc_ids)),
    )
    return {document.doc_id: document for _, document, _ in map(read_document, rows)}


def partitions(connection: sqlite3.Connection, index_id: int, languages: tuple[str, ...]) -> list[tuple[int, str]]:
    """Returns the partitions of an index with their languages: of these languages, or of all if none is named."""
    found = connection.execute(
        "SELECT partition_id, language, row_sum FROM partitions WHERE index_id = ? ORDER BY partition_id", (index_id,)
    ).fetchall()
    for partition_id, language, found_sum in found:
        check_row(found_sum, "partitions", partition_id, (partition_id, index_id), language)
    return [(partition_id, language) for partition_id, language, _ in found if not languages or language in languages]


def _conditions(condition: tuple[Scalar, ...] | Range) -> Iterator[tuple[str, list[Any]]]:
    """Yields a condition for texts and one for numbers. As in an engine, the document's value decides how the two are
    compared: a text with the filter's text, a number with the number that it reads as (NULL, which no value passes, if
    it does not)."""
    for column, read in (("text", facet_text), ("number", _number)):
        if isinstance(condition, tuple):
            yield f"{column} IN ({_marks(condition)})", [read(value) for value in condition]
        else:
            bounds = " AND ".join(f"{column} {_OPERATORS[name]} ?" for name in condition)
            yield bounds, [read(bound) for bound in condition.values()]


def _number(value: Scalar) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return finite(value) if isinstance(value, str) else float(value)
    except ValueError:
        return None


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
