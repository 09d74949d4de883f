"""The default store: one SQLite file in a folder, without a server or anything to install.

SQLite comes with Python. It survives a crash at any moment (write-ahead log, atomic transactions), and several
processes can read while one writes. It filters in SQL and computes BM25 (FTS5). Nearest neighbours are exact: one
product of NumPy over the vectors in memory, some 12 ms for 100,000 documents of 300 dimensions (120 MB). LanceDB does
no more and needs its own binary packages. Beyond some 100,000 documents an engine is the better store.
"""

# ruff: noqa: S608 - the SQL is built of table names, which are made of our own numbers, columns and placeholders

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import NotFound
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.checks import (
    check_depth,
    check_dim,
    check_number_of_ids,
    check_query_vector,
    document_problem,
)
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import IndexVersion, check_index_name, version_name
from reranker.stores.base.writing import (
    NewVector,
    PreparedDocument,
    Preparer,
    StoredBag,
    Writable,
    WriteResult,
)
from reranker.stores.embedded.checking import checked_blocks
from reranker.stores.embedded.claims import forget_claim, release_claim, take_claim
from reranker.stores.embedded.file import SqliteFile
from reranker.stores.embedded.indices import (
    StoredIndex,
    delete_index,
    find_index,
    index_names,
    insert_index,
    promote_version,
    version_ids,
    versions_of,
)
from reranker.stores.embedded.queries import (
    SELECT_DOCUMENTS,
    allowed_rows,
    bm25_rows,
    candidates_of_rows,
    documents_by_id,
    documents_of_rows,
    filtered_rows,
    partitions,
)
from reranker.stores.embedded.row_sums import (
    blobs_sum,
    check_blobs,
    check_row,
    check_vectors,
    row_sum,
    set_index_sum,
)
from reranker.stores.embedded.rows import (
    VECTOR_COLUMNS,
    delete_row,
    prepare,
    read_encoded,
    read_vector,
    replace_vector,
    write_row,
)
from reranker.stores.embedded.translated import PartitionCache, translated_rows
from reranker.stores.embedded.vectors import VectorBlock
from reranker.text.bags import unpack
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.translation.groups import WordGroup
from reranker.upstream.rights import SERVICE, Rights

# At its end a transaction waits for the disk, so it contains many documents.
_BATCH_DOCUMENTS = 500
_BATCH_BYTES = 32_000_000

_BAGS_AT_A_TIME = 1_000

# Of `random_documents`.
_SEED = 20_160_406


_Change = TypeVar("_Change")


class EmbeddedStore:
    """A `Store` in a folder; see `reranker.stores.base.protocol.Store`."""

    def __init__(self, folder: Path, timeout_s: float = 30.0) -> None:
        self._file = SqliteFile(folder, timeout_s)
        self._blocks: dict[str, VectorBlock] = {}
        self._blocks_lock = threading.Lock()
        self._partitions = PartitionCache()

    @property
    def address(self) -> str:
        return str(self._file.folder)

    def problems(self) -> list[str]:
        self.indices()
        return []

    def indices(self) -> list[str]:
        with self._file.reading() as connection:
            return index_names(connection)

    def describe(self, index: str) -> IndexDescription:
        with self._file.reading() as connection:
            return self._index(connection, index).description

    def drop(self, index: str) -> None:
        with self._file.writing() as connection:
            found = self._index(connection, index)
            for version in version_ids(connection, index) or [found.index_id]:
                delete_index(connection, version)
            forget_claim(connection, index)
        with self._blocks_lock:
            self._blocks.pop(index, None)

    def stage(self, index: str, description: IndexDescription) -> str:
        check_index_name(index)
        check_dim(description.dim)
        with self._file.writing(create=True) as connection:
            names = connection.execute("SELECT name FROM indices").fetchall()
            version = version_name(index, (name for (name,) in names))
            insert_index(connection, version, description.as_meta(index))
        return version

    def promote(self, index: str, version: str) -> None:
        with self._file.writing() as connection:
            promote_version(connection, index, version)

    def versions(self, index: str) -> list[IndexVersion]:
        check_index_name(index)
        try:
            with self._file.reading() as connection:
                return [version for version, _ in versions_of(connection, index)]
        except NotFound:
            return []

    def claim(self, index: str, owner: str, seconds: float) -> None:
        check_index_name(index)
        with self._file.writing(create=True) as connection:
            take_claim(connection, index, owner, seconds)

    def release(self, index: str, owner: str) -> None:
        with self._file.writing() as connection:
            release_claim(connection, index, owner)

    def preparer(self, index: str) -> Preparer:
        return partial(_prepare, self.describe(index).dim)

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        self.describe(index)
        return self._write_batches(index, documents)

    def delete(self, index: str, doc_ids: Iterable[str]) -> Iterator[WriteResult]:
        self.describe(index)
        return self._change_batches(index, doc_ids, lambda doc_id: doc_id, delete_row)

    def replace_vectors(self, index: str, vectors: Iterable[NewVector]) -> Iterator[WriteResult]:
        self.describe(index)
        return self._change_batches(index, vectors, lambda vector: vector.doc_id, replace_vector)

    def bags(self, index: str, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
        self.describe(index)
        return self._read_bags(index, stale)

    def languages(self, index: str) -> dict[str, int]:
        with self._file.reading() as connection:
            found = partitions(connection, self._index(connection, index).index_id, ())
            counted = "SELECT count(*) FROM documents WHERE partition_id = ?"
            counts = {
                language: connection.execute(counted, (partition_id,)).fetchone()[0] for partition_id, language in found
            }
        return {language: counts[language] for language in sorted(counts) if counts[language]}

    def differences(self, index: str) -> Sequence[str]:
        self.describe(index)
        return ()

    def refresh(self, index: str) -> None:
        self.describe(index)  # committed changes are visible at once

    def count(self, index: str, filters: Filters = Filters(), rights: Rights = SERVICE) -> int:
        with self._file.reading() as connection:
            sql, parameters = filtered_rows(self._index(connection, index).index_id, filters)
            return int(connection.execute(f"SELECT count(*) FROM ({sql})", parameters).fetchone()[0])

    def fetch(self, index: str, doc_id: str, rights: Rights = SERVICE) -> EncodedDocument:
        with self._file.reading() as connection:
            made = self._index(connection, index)
            row = connection.execute(
                f"{SELECT_DOCUMENTS} WHERE documents.index_id = ? AND doc_id = ?", (made.index_id, doc_id)
            ).fetchone()
            if row is None:
                raise NotFound(f"index {index!r} has no document {doc_id!r}; a search shows the ids that it has")
            return read_encoded(row, *read_vector(connection, row[0]))

    def documents(self, index: str, doc_ids: Sequence[str], rights: Rights = SERVICE) -> dict[str, Document]:
        check_number_of_ids(doc_ids)
        with self._file.reading() as connection:
            return documents_by_id(connection, self._index(connection, index).index_id, doc_ids)

    def random_documents(self, index: str, n: int) -> list[Document]:
        with self._file.reading() as connection:
            sql, parameters = filtered_rows(self._index(connection, index).index_id, Filters())
            row_ids = [row_id for (row_id,) in connection.execute(f"{sql} ORDER BY row_id", parameters)]
            drawn = np.random.default_rng(_SEED).choice(row_ids, min(n, len(row_ids)), replace=False)
            return documents_of_rows(connection, drawn.tolist())

    def knn(
        self, index: str, vector: NDArray[np.float32], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        check_depth(depth)
        with self._file.reading() as connection:
            with self._blocks_lock:
                # The transaction's first read is under the lock, so no block is newer than its view.
                made = self._index(connection, index)
                block = self._block(connection, index, made)
            vector = check_query_vector(vector, made.description.dim)
            allowed = allowed_rows(connection, made.index_id, filters)
            row_ids, scores = block.nearest(vector, depth, allowed)
            return candidates_of_rows(connection, list(zip(row_ids.tolist(), scores.tolist(), strict=True)))

    def bm25(self, index: str, text: str, depth: int, filters: Filters, rights: Rights = SERVICE) -> list[Candidate]:
        check_depth(depth)
        with self._file.reading() as connection:
            rows = bm25_rows(connection, self._index(connection, index).index_id, text, depth, filters)
            return candidates_of_rows(connection, rows)

    def translated(
        self,
        index: str,
        groups: Mapping[str, Sequence[WordGroup]],
        depth: int,
        filters: Filters,
        rights: Rights = SERVICE,
    ) -> list[Candidate]:
        check_depth(depth)
        with self._file.reading() as connection:
            made = self._index(connection, index)
            rows = translated_rows(connection, made.index_id, made.changes, groups, depth, filters, self._partitions)
            return candidates_of_rows(connection, rows)

    def idf(self, index: str) -> IdfTable:
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT row_sum, index_id, language, n_documents, term_ids, counts FROM idf WHERE index_id = ?",
                (self._index(connection, index).index_id,),
            ).fetchall()
            for found, index_id, language, n_documents, *blobs in rows:
                check_blobs(found, "idf", language, blobs, (index_id, n_documents), language)
        return IdfTable(
            {
                language: DocumentFrequencies(n_documents, _unpacked(term_ids), _unpacked(counts))
                for _, _, language, n_documents, term_ids, counts in rows
            }
        )

    def save_idf(self, index: str, table: IdfTable) -> None:
        with self._file.writing() as connection:
            index_id = self._index(connection, index).index_id
            connection.execute("DELETE FROM idf WHERE index_id = ?", (index_id,))
            rows = [
                (index_id, language, one.n_documents, _packed(one.term_ids), _packed(one.counts))
                for language, one in table.languages.items()
            ]
            connection.executemany(
                "INSERT INTO idf (index_id, language, n_documents, term_ids, counts, row_sum) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [(*row, blobs_sum(row[3:], (row[0], row[2]), row[1])) for row in rows],
            )

    def hubness_sample(self, index: str) -> HubnessSample:
        with self._file.reading() as connection:
            index_id = self._index(connection, index).index_id
            row = connection.execute(
                "SELECT sample, row_sum FROM hubness_samples WHERE index_id = ?", (index_id,)
            ).fetchone()
            if row is None:
                return HubnessSample()
            check_row(row[1], "hubness_samples", index_id, (index_id,), row[0])
        return HubnessSample.from_json(json.loads(row[0]))

    def save_hubness_sample(self, index: str, sample: HubnessSample) -> None:
        with self._file.writing() as connection:
            row = (self._index(connection, index).index_id, json.dumps(sample.as_json()))
            connection.execute(
                "INSERT OR REPLACE INTO hubness_samples (index_id, sample, row_sum) VALUES (?, ?, ?)",
                (*row, row_sum(row[:1], row[1])),
            )

    def checked_blocks(self, *, whole: bool = True) -> Iterator[int]:
        """Compares the file with its checksums in blocks; see `reranker.stores.embedded.checking`."""
        return checked_blocks(self._file, whole=whole)

    def close(self) -> None:
        self._file.close()

    def _index(self, connection: sqlite3.Connection, index: str) -> StoredIndex:
        check_index_name(index)
        found = find_index(connection, index)
        if found is None:
            raise NotFound(
                f"{self.address} has no index {index!r}; check its name, or make it with "
                f"`sinkrank ingest FILE --index {index} --store {self.address}`"
            )
        return found

    def _block(self, connection: sqlite3.Connection, index: str, made: StoredIndex) -> VectorBlock:
        """Returns the index's vectors as this transaction sees them. Reads only changes since the block in memory."""
        block = self._blocks.get(index)
        if block is None or block.generation != made.generation:
            block = VectorBlock.empty(made.generation, made.description.dim)
        if block.change < made.changes:
            changed = connection.execute(
                f"SELECT {VECTOR_COLUMNS} FROM vectors WHERE index_id = ? AND change > ? ORDER BY row_id",
                (made.index_id, block.change),
            ).fetchall()
            check_vectors(changed)
            block = block.updated(made.changes, [(row_id, nbow) for row_id, _, _, nbow, _, _ in changed])
            self._blocks[index] = block
        return block

    def _write_batches(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        for batch in _batches(documents):
            rows = [document.content for document in batch if document.problem is None]
            if rows:
                with self._changing(index) as (connection, index_id, change):
                    for row in rows:
                        write_row(connection, index_id, change, row)
            for document in batch:
                yield WriteResult(document.doc_id, document.problem)

    def _change_batches(
        self,
        index: str,
        changes: Iterable[_Change],
        id_of: Callable[[_Change], str],
        apply: Callable[[sqlite3.Connection, int, int, _Change], bool],
    ) -> Iterator[WriteResult]:
        """Applies changes to existing documents, many in a transaction."""
        stream = iter(changes)
        while batch := list(islice(stream, _BATCH_DOCUMENTS)):
            with self._changing(index) as (connection, index_id, change):
                was_there = [apply(connection, index_id, change, one) for one in batch]
            for one, found in zip(batch, was_there, strict=True):
                yield WriteResult(id_of(one), None if found else "not_found: the index has no such document")

    @contextmanager
    def _changing(self, index: str) -> Iterator[tuple[sqlite3.Connection, int, int]]:
        """A transaction that changes documents: the connection, the index's id and the number of the change."""
        with self._file.writing() as connection:
            made = self._index(connection, index)
            change = made.changes + 1
            connection.execute("UPDATE indices SET changes = ? WHERE index_id = ?", (change, made.index_id))
            set_index_sum(connection, made.index_id)
            yield connection, made.index_id, change

    def _read_bags(self, index: str, stale: Mapping[str, str] | None) -> Iterator[StoredBag]:
        """Reads in several short transactions, by row id. During a long one the write-ahead log could not be
        emptied."""
        with self._file.reading() as connection:
            index_id = self._index(connection, index).index_id
            (last,) = connection.execute("SELECT max(row_id) FROM documents WHERE index_id = ?", (index_id,)).fetchone()
        after = -1
        while True:
            with self._file.reading() as connection:
                rows = connection.execute(
                    "SELECT row_id, documents.row_sum, documents.index_id, partition_id, language, doc_id, bag, title, "
                    "weights FROM documents JOIN partitions USING (partition_id) JOIN vectors USING (row_id) "
                    "WHERE documents.index_id = ? AND row_id > ? AND row_id <= ? ORDER BY row_id LIMIT ?",
                    (index_id, after, last or -1, _BAGS_AT_A_TIME),
                ).fetchall()
                for row_id, found, its_index, partition_id, *texts, _ in rows:
                    check_row(found, "documents", row_id, (row_id, its_index, partition_id), *texts)
            if not rows:
                return
            after = rows[-1][0]
            for _, _, _, _, language, doc_id, bag, _, weights in rows:
                if stale is None or stale.get(language, weights) != weights:
                    yield StoredBag(doc_id, language, unpack(bag), weights)


def _batches(documents: Iterable[Writable]) -> Iterator[list[PreparedDocument]]:
    """Splits documents into batches of one transaction."""
    batch: list[PreparedDocument] = []
    n_bytes = 0
    for document in documents:
        if document is not None:
            batch.append(document)
            n_bytes += document.n_bytes
        if batch and (document is None or len(batch) >= _BATCH_DOCUMENTS or n_bytes >= _BATCH_BYTES):
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch


def _prepare(dim: int, encoded: EncodedDocument) -> PreparedDocument:
    doc_id = encoded.document.doc_id
    problem = document_problem(encoded, dim)
    if problem is not None:
        return PreparedDocument(doc_id, None, 0, problem)
    row = prepare(encoded)
    return PreparedDocument(doc_id, row, row.n_bytes)


def _packed(numbers: NDArray[np.int32]) -> bytes:
    return numbers.astype("<i4").tobytes()


def _unpacked(packed: bytes) -> NDArray[np.int32]:
    return np.frombuffer(packed, "<i4").astype(np.int32)
