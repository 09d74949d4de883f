"""The default store: one SQLite file in a folder, without a server or anything to install.

SQLite comes with Python. It survives a crash at any moment (write-ahead log, atomic transactions), and several
processes can read while one writes. It filters in SQL and keeps the words of each document (FTS5). BM25 and nearest
neighbours are exact, by NumPy over what is in memory: one product over the vectors takes some 12 ms for 100,000
documents of 300 dimensions (120 MB). LanceDB does no more and needs its own binary packages. Beyond some 100,000
documents an engine is the better store.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reranker.stores.embedded.checking import checked_steps
from reranker.stores.embedded.file import SqliteFile
from reranker.stores.embedded.index import EmbeddedIndex
from reranker.stores.embedded.indices import existing_index, index_names


class EmbeddedStore:
    """A `Store` in a folder; see `reranker.stores.base.protocol.Store`."""

    def __init__(self, folder: Path, timeout_s: float = 30.0) -> None:
        self._file = SqliteFile(folder, timeout_s)

    @property
    def address(self) -> str:
        return str(self._file.folder)

    def problems(self) -> list[str]:
        self.indices()
        return []

    def indices(self) -> list[str]:
        with self._file.reading() as connection:
            return index_names(connection)

    def open(self, index: str) -> EmbeddedIndex:
        with self._file.reading() as connection:
            description = existing_index(connection, index, self.address).description
        return EmbeddedIndex(self._file, index, description)

    def checked_steps(self) -> Iterator[None]:
        """Checks the whole file in steps; see `reranker.stores.embedded.checking`."""
        return checked_steps(self._file)

    def close(self) -> None:
        self._file.close()
