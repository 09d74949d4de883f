"""The default store: one SQLite file in a folder, with no server and nothing to install.

SQLite comes with Python, survives a crash at any moment (write-ahead log, whole transactions), lets several processes
read while one writes, filters in SQL, and counts BM25 (FTS5). Nearest neighbours are exact: one product of NumPy over
the vectors held in memory, some 12 ms for 100,000 documents of 300 dimensions (in 120 MB). LanceDB would do as much
with binary packages of its own; beyond some 100,000 documents an engine is the better store.
"""

# ruff: noqa: S608 - what is put into the SQL is table names made of our own numbers, columns and placeholders

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.bags import unpack
from reranker.documents import Candidate, EncodedDocument
from reranker.errors import BadInput, NotFound, NotOurIndex
from reranker.idf import DocumentFrequencies, IdfTable
from reranker.stores.checks import check_depth, check_dim, check_query_vector, document_problem
from reranker.stores.protocol import Filters, IndexDescription, WriteResult, check_index_name
from reranker.stores.sqlite_file import SqliteFile
from reranker.stores.sqlite_queries import allowed_rows, bm25_rows, filtered_rows
from reranker.stores.sqlite_rows import (
    DOCUMENT_COLUMNS,
    PreparedRow,
    prepare,
    read_document,
    read_encoded,
    vocabulary_table,
    words_table,
    write_row,
)
from reranker.stores.vectors import VectorBlock

# A transaction ends with a wait for the disk, which this many documents share.
_BATCH_DOCUMENTS = 500
_BATCH_BYTES = 32_000_000

_SELECT_DOCUMENTS = f"SELECT {DOCUMENT_COLUMNS} FROM documents JOIN partitions USING (partition_id)"
_TABLES_OF_AN_INDEX = ("facets", "vectors", "documents", "partitions", "idf", "indices")


@dataclass(frozen=True, slots=True)
class _Index:
    """A row of `indices`, read in the transaction that uses it."""

    index_id: int
    generation: str
    changes: int
    description: IndexDescription


class EmbeddedStore:
    """A `Store` in a folder; see `reranker.stores.protocol.Store`."""

    def __init__(self, folder: Path, timeout_s: float = 30.0) -> None:
        self._file = SqliteFile(folder, timeout_s)
        self._blocks: dict[str, VectorBlock] = {}
        self._blocks_lock = threading.Lock()

    @property
    def address(self) -> str:
        return str(self._file.folder)

    def indices(self) -> list[str]:
        with self._file.reading() as connection:
            rows = connection.execute("SELECT name, meta FROM indices ORDER BY name").fetchall()
        return [name for name, meta in rows if _is_ours(meta, name)]

    def create(self, index: str, description: IndexDescription) -> None:
        check_index_name(index)
        check_dim(description.dim)
        with self._file.writing(create=True) as connection:
            if connection.execute("SELECT 1 FROM indices WHERE name = ?", (index,)).fetchone():
                raise BadInput(
                    f"{self.address} has an index {index!r} already; take another name, or make it anew with --rebuild"
                )
            connection.execute(
                "INSERT INTO indices (name, generation, meta) VALUES (?, ?, ?)",
                (index, secrets.token_hex(8), json.dumps(description.as_meta())),
            )

    def describe(self, index: str) -> IndexDescription:
        with self._file.reading() as connection:
            return self._index(connection, index).description

    def drop(self, index: str) -> None:
        with self._file.writing() as connection:
            index_id = self._index(connection, index).index_id
            partitions = connection.execute("SELECT partition_id FROM partitions WHERE index_id = ?", (index_id,))
            for (partition_id,) in partitions.fetchall():
                connection.execute(f"DROP TABLE {vocabulary_table(partition_id)}")
                connection.execute(f"DROP TABLE {words_table(partition_id)}")
            for table in _TABLES_OF_AN_INDEX:
                connection.execute(f"DELETE FROM {table} WHERE index_id = ?", (index_id,))
        with self._blocks_lock:
            self._blocks.pop(index, None)

    def write(self, index: str, documents: Iterable[EncodedDocument]) -> Iterator[WriteResult]:
        dim = self.describe(index).dim
        return self._write_batches(index, dim, documents)

    def refresh(self, index: str) -> None:
        self.describe(index)  # what was committed is visible at once

    def count(self, index: str, filters: Filters = Filters()) -> int:
        with self._file.reading() as connection:
            sql, parameters = filtered_rows(self._index(connection, index).index_id, filters)
            return int(connection.execute(f"SELECT count(*) FROM ({sql})", parameters).fetchone()[0])

    def fetch(self, index: str, doc_id: str) -> EncodedDocument:
        with self._file.reading() as connection:
            made = self._index(connection, index)
            row = connection.execute(
                f"{_SELECT_DOCUMENTS} WHERE documents.index_id = ? AND doc_id = ?", (made.index_id, doc_id)
            ).fetchone()
            if row is None:
                raise NotFound(f"index {index!r} has no document {doc_id!r}; a search shows the ids that it has")
            nbow = connection.execute("SELECT nbow FROM vectors WHERE row_id = ?", (row[0],)).fetchone()
        return read_encoded(row, nbow[0])

    def knn(self, index: str, vector: NDArray[np.float32], depth: int, filters: Filters) -> list[Candidate]:
        check_depth(depth)
        with self._file.reading() as connection:
            with self._blocks_lock:
                # The transaction's first look is under the lock, so no block can be newer than what it sees.
                made = self._index(connection, index)
                block = self._block(connection, index, made)
            vector = check_query_vector(vector, made.description.dim)
            allowed = allowed_rows(connection, made.index_id, filters)
            row_ids, scores = block.nearest(vector, depth, allowed)
            return _candidates(connection, row_ids.tolist(), scores.tolist())

    def bm25(self, index: str, text: str, depth: int, filters: Filters) -> list[Candidate]:
        check_depth(depth)
        with self._file.reading() as connection:
            rows = bm25_rows(connection, self._index(connection, index).index_id, text, depth, filters)
            return _candidates(connection, [row_id for row_id, _ in rows], [score for _, score in rows])

    def idf(self, index: str) -> IdfTable:
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT language, n_documents, term_ids, counts FROM idf WHERE index_id = ?",
                (self._index(connection, index).index_id,),
            ).fetchall()
        return IdfTable(
            {
                language: DocumentFrequencies(n_documents, _unpacked(term_ids), _unpacked(counts))
                for language, n_documents, term_ids, counts in rows
            }
        )

    def save_idf(self, index: str, table: IdfTable) -> None:
        with self._file.writing() as connection:
            index_id = self._index(connection, index).index_id
            connection.execute("DELETE FROM idf WHERE index_id = ?", (index_id,))
            connection.executemany(
                "INSERT INTO idf VALUES (?, ?, ?, ?, ?)",
                [
                    (index_id, language, one.n_documents, _packed(one.term_ids), _packed(one.counts))
                    for language, one in table.languages.items()
                ],
            )

    def close(self) -> None:
        self._file.close()

    def _index(self, connection: sqlite3.Connection, index: str) -> _Index:
        check_index_name(index)
        row = connection.execute(
            "SELECT index_id, generation, changes, meta FROM indices WHERE name = ?", (index,)
        ).fetchone()
        if row is None:
            raise NotFound(
                f"{self.address} has no index {index!r}; make it with "
                f"`sinkrank ingest FILE --index {index} --store {self.address}`"
            )
        return _Index(row[0], row[1], row[2], IndexDescription.from_meta(_json(row[3]), index))

    def _block(self, connection: sqlite3.Connection, index: str, made: _Index) -> VectorBlock:
        """The index's vectors as this transaction sees them; reads only what changed since the block in memory."""
        block = self._blocks.get(index)
        if block is None or block.generation != made.generation:
            block = VectorBlock.empty(made.generation, made.description.dim)
        if block.change < made.changes:
            changed = connection.execute(
                "SELECT row_id, nbow FROM vectors WHERE index_id = ? AND change > ? ORDER BY row_id",
                (made.index_id, block.change),
            ).fetchall()
            block = block.updated(made.changes, changed)
            self._blocks[index] = block
        return block

    def _write_batches(self, index: str, dim: int, documents: Iterable[EncodedDocument]) -> Iterator[WriteResult]:
        for batch in _batches(documents, dim):
            self._write_rows(index, [row for _, row in batch if isinstance(row, PreparedRow)])
            for doc_id, row in batch:
                yield WriteResult(doc_id, row if isinstance(row, str) else None)

    def _write_rows(self, index: str, rows: list[PreparedRow]) -> None:
        if not rows:
            return
        with self._file.writing() as connection:
            made = self._index(connection, index)
            change = made.changes + 1
            connection.execute("UPDATE indices SET changes = ? WHERE index_id = ?", (change, made.index_id))
            for row in rows:
                write_row(connection, made.index_id, change, row)


def _candidates(connection: sqlite3.Connection, row_ids: list[int], scores: list[float]) -> list[Candidate]:
    rows = connection.execute(
        f"{_SELECT_DOCUMENTS} WHERE row_id IN (SELECT value FROM json_each(?))", (json.dumps(row_ids),)
    )
    documents = {row_id: (document, bag) for row_id, document, bag in map(read_document, rows)}
    return [
        Candidate(documents[row_id][0], unpack(documents[row_id][1]), float(score), rank)
        for rank, (row_id, score) in enumerate(zip(row_ids, scores, strict=True), start=1)
    ]


def _batches(documents: Iterable[EncodedDocument], dim: int) -> Iterator[list[tuple[str, PreparedRow | str]]]:
    """Ids with their rows, or with what is wrong; as many as one transaction takes."""
    batch: list[tuple[str, PreparedRow | str]] = []
    n_bytes = 0
    for encoded in documents:
        row = document_problem(encoded, dim) or prepare(encoded)
        batch.append((encoded.document.doc_id, row))
        n_bytes += 0 if isinstance(row, str) else row.n_bytes
        if len(batch) >= _BATCH_DOCUMENTS or n_bytes >= _BATCH_BYTES:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch


def _is_ours(meta: str, index: str) -> bool:
    try:
        IndexDescription.from_meta(_json(meta), index)
    except NotOurIndex:
        return False
    return True


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _packed(numbers: NDArray[np.int32]) -> bytes:
    return numbers.astype("<i4").tobytes()


def _unpacked(packed: bytes) -> NDArray[np.int32]:
    return np.frombuffer(packed, "<i4").astype(np.int32)
