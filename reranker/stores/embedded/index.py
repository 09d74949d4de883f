"""Searches one index of the embedded store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import NotFound
from reranker.stores.base.description import IndexDescription, check_same_versions
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import index_of_version
from reranker.stores.base.notes import Kind, NotesReader
from reranker.stores.embedded.bm25 import bm25_rows, translated_rows
from reranker.stores.embedded.file import SqliteFile
from reranker.stores.embedded.indices import StoredIndex, existing_index
from reranker.stores.embedded.notes import read_note
from reranker.stores.embedded.queries import (
    SELECT_DOCUMENTS,
    allowed_rows,
    candidates_of_rows,
    documents_by_id,
    partitions,
)
from reranker.stores.embedded.rows import read_document
from reranker.text.bags import unpack
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.translation.groups import WordGroup
from reranker.upstream.rights import SERVICE, Rights

# Of `random_documents`.
_SEED = 20_160_406


class EmbeddedIndex(NotesReader):
    """An `IndexReader` in a folder; see `reranker.stores.base.protocol.IndexReader`. Each call sees the index as it is
    then, also after a rebuild by another process. After a rebuild with other versions each call raises VersionMismatch:
    the caller knows the terms by the ids of the versions that the index was opened with."""

    def __init__(self, file: SqliteFile, name: str, description: IndexDescription) -> None:
        self._file = file
        self._name = name
        self.description = description

    def languages(self) -> Mapping[str, int]:
        with self._file.reading() as connection:
            found = partitions(connection, self._index(connection).index_id, ())
            counted = "SELECT count(*) FROM documents WHERE partition_id = ?"
            counts = {
                language: connection.execute(counted, (partition_id,)).fetchone()[0] for partition_id, language in found
            }
        return {language: counts[language] for language in sorted(counts) if counts[language]}

    def note(self, kind: Kind) -> bytes | None:
        with self._file.reading() as connection:
            return read_note(connection, self._index(connection).name, kind)

    def knn(
        self, vector: NDArray[np.float32], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        with self._file.reading() as connection:
            stored, block = connection.cached.vectors.current(connection, self._name, self._index)
            allowed = allowed_rows(connection, stored.index_id, filters)
            row_ids, scores = block.nearest(vector, depth, allowed)
            return candidates_of_rows(connection, list(zip(row_ids.tolist(), scores.tolist(), strict=True)))

    def bm25(self, text: str, depth: int, filters: Filters, rights: Rights = SERVICE) -> list[Candidate]:
        with self._file.reading() as connection:
            rows = bm25_rows(connection, self._index(connection), text, depth, filters, connection.cached.postings)
            return candidates_of_rows(connection, rows)

    def translated(
        self, groups: Mapping[str, Sequence[WordGroup]], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        with self._file.reading() as connection:
            rows = translated_rows(
                connection, self._index(connection), groups, depth, filters, connection.cached.postings
            )
            return candidates_of_rows(connection, rows)

    def documents(
        self, doc_ids: Sequence[str], rights: Rights = SERVICE, *, is_strict: bool = False
    ) -> dict[str, Document]:
        with self._file.reading() as connection:
            return documents_by_id(connection, self._index(connection).index_id, doc_ids)

    def stored(self, doc_ids: Sequence[str]) -> Set[str]:
        select = "SELECT doc_id FROM documents WHERE index_id = ? AND doc_id IN (SELECT value FROM json_each(?))"
        with self._file.reading() as connection:
            found = connection.execute(select, (self._index(connection).index_id, json.dumps(doc_ids)))
            return {doc_id for (doc_id,) in found}

    def fetch(self, doc_id: str, rights: Rights = SERVICE) -> EncodedDocument:
        with self._file.reading() as connection:
            stored = self._index(connection)
            row = connection.execute(
                f"{SELECT_DOCUMENTS} WHERE documents.index_id = ? AND doc_id = ?", (stored.index_id, doc_id)
            ).fetchone()
            if row is None:
                raise NotFound(f"index {self._name!r} has no document {doc_id!r}; a search shows the ids that it has")
            _, document, bag = read_document(row)
            return EncodedDocument(document, unpack(bag))

    def count(self, rights: Rights = SERVICE) -> int:
        with self._file.reading() as connection:
            select = "SELECT count(*) FROM documents WHERE index_id = ?"
            return int(connection.execute(select, (self._index(connection).index_id,)).fetchone()[0])

    def random_documents(self, n: int) -> list[Document]:
        with self._file.reading() as connection:
            index_id = self._index(connection).index_id
            select = "SELECT doc_id FROM documents WHERE index_id = ? ORDER BY row_id"
            doc_ids = [doc_id for (doc_id,) in connection.execute(select, (index_id,))]
            drawn = np.random.default_rng(_SEED).choice(len(doc_ids), min(n, len(doc_ids)), replace=False)
            return list(documents_by_id(connection, index_id, [doc_ids[place] for place in drawn]).values())

    def _index(self, connection: sqlite3.Connection) -> StoredIndex:
        folder = str(self._file.folder)
        stored = existing_index(connection, self._name, folder)
        check_same_versions(index_of_version(self._name) or self._name, stored.description, self.description, folder)
        return stored
