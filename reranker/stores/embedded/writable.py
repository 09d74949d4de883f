"""Makes, fills, replaces and deletes the indices of the embedded store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from reranker.base.batches import in_batches
from reranker.base.errors import NotFound
from reranker.stores.base.checks import check_dim
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import IndexVersion, check_index_name
from reranker.stores.base.notes import Change, Kind, NotesWriter
from reranker.stores.base.writing import (
    NewVector,
    PreparedDocument,
    Preparer,
    StoredBag,
    WriteResult,
)
from reranker.stores.embedded.indices import (
    StoredIndex,
    delete_index,
    existing_index,
    forget_run,
    free_version_name,
    insert_index,
    promote_version,
    version_ids,
    versions_of,
)
from reranker.stores.embedded.notes import change_note
from reranker.stores.embedded.row_sums import check_row, set_index_sum
from reranker.stores.embedded.rows import delete_row, prepare, replace_vector, write_row
from reranker.stores.embedded.store import EmbeddedStore
from reranker.text.bags import unpack
from reranker.text.documents import EncodedDocument

# At its end a transaction waits for the disk, so it contains many documents.
_BATCH_DOCUMENTS = 500
_BATCH_BYTES = 32_000_000

_BAGS_AT_A_TIME = 1_000

# Changes the document of some content; returns whether it is there.
_Apply = Callable[[sqlite3.Connection, int, int, Any], bool]


class WritableEmbeddedStore(NotesWriter, EmbeddedStore):
    """A `WritableStore` in a folder; see `reranker.stores.base.protocol.WritableStore`."""

    def stage(self, index: str, description: IndexDescription, run: str | None = None) -> str:
        check_index_name(index)
        check_dim(description.dim)
        self._file.create()
        with self._file.writing() as connection:
            version = free_version_name(connection, index)
            insert_index(connection, version, description.as_meta(index, run))
        return version

    def complete(self, version: str) -> None:
        with self._file.writing() as connection:
            forget_run(connection, self._index(connection, version).index_id)

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

    def drop(self, index: str) -> None:
        with self._file.writing() as connection:
            found = self._index(connection, index)
            for index_id in [found.index_id] if found.name == index else version_ids(connection, index):
                delete_index(connection, index_id)

    def claim(self, index: str, owner: str, seconds: float) -> None:
        check_index_name(index)
        self._file.create()
        super().claim(index, owner, seconds)

    def preparer(self, index: str) -> Preparer:
        self.open(index)
        return _prepare

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        self.open(index)
        return self._write(index, documents, write_row)

    def delete(self, index: str, doc_ids: Iterable[str]) -> Iterator[WriteResult]:
        self.open(index)
        return self._write(index, (PreparedDocument(doc_id, doc_id, 0) for doc_id in doc_ids), delete_row)

    def bags(self, index: str, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
        self.open(index)
        return self._read_bags(index, stale)

    def replace_vectors(self, index: str, vectors: Iterable[NewVector]) -> Iterator[WriteResult]:
        self.open(index)
        return self._write(index, (PreparedDocument(vector.doc_id, vector, 0) for vector in vectors), replace_vector)

    def refresh(self, index: str) -> None:
        self.open(index)  # committed changes are visible at once

    def own_name(self, index: str) -> str:
        with self._file.reading() as connection:
            return self._index(connection, index).name

    def change_note(self, name: str, kind: Kind, change: Change) -> None:
        with self._file.writing() as connection:
            change_note(connection, name, kind, change)

    def _index(self, connection: sqlite3.Connection, index: str) -> StoredIndex:
        return existing_index(connection, index, self.address)

    def _write(self, index: str, documents: Iterable[PreparedDocument], apply: _Apply) -> Iterator[WriteResult]:
        """Applies the content of each document, many in a transaction."""
        for batch in in_batches(documents, attrgetter("n_bytes"), _BATCH_DOCUMENTS, _BATCH_BYTES):
            with self._changing(index) as (connection, index_id, change):
                was_there = [apply(connection, index_id, change, document.content) for document in batch]
            for document, found in zip(batch, was_there, strict=True):
                yield WriteResult(document.doc_id, None if found else "not_found: the index has no such document")

    @contextmanager
    def _changing(self, index: str) -> Iterator[tuple[sqlite3.Connection, int, int]]:
        """A transaction that changes documents: the connection, the index's id and the number of the change."""
        with self._file.writing() as connection:
            stored = self._index(connection, index)
            change = stored.changes + 1
            connection.execute("UPDATE indices SET changes = ? WHERE index_id = ?", (change, stored.index_id))
            set_index_sum(connection, stored.index_id)
            yield connection, stored.index_id, change

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
            for _, found, _, _, language, doc_id, bag, _, weights in rows:
                if stale is None or stale.get(language, weights) != weights:
                    yield StoredBag(doc_id, language, unpack(bag), (found,))


def _prepare(encoded: EncodedDocument) -> PreparedDocument:
    row = prepare(encoded)
    return PreparedDocument(row.doc_id, row, row.n_bytes)
