"""Opens one SQLite file, hands out its transactions, and maps SQLite's errors to ours; knows nothing of searches."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from reranker.base.errors import BadInput, NotFound, StoreUnavailable, VersionMismatch

FILE_NAME = "store.sqlite3"

# "Snkr": tells our files from other SQLite files.
APPLICATION_ID = 0x536E6B72

# Raise it whenever the tables below change.
LAYOUT_VERSION = 4

# Rows are numbered through all indices and never reused: a row id is the order of insertion. Each language of an index
# is a partition with a full-text table of its own (`words_ID`), so that BM25's statistics are those of one language, as
# they are with an engine's field per language. Vectors are apart from texts so that reading all of them is one scan.
_TABLES = """
CREATE TABLE indices (
    index_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, generation TEXT NOT NULL,
    meta TEXT NOT NULL, changes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE aliases (name TEXT PRIMARY KEY, index_id INTEGER NOT NULL);
CREATE TABLE partitions (
    partition_id INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, language TEXT NOT NULL,
    UNIQUE (index_id, language));
CREATE TABLE documents (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, partition_id INTEGER NOT NULL,
    doc_id TEXT NOT NULL, bag TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE (index_id, doc_id));
CREATE INDEX documents_by_partition ON documents (partition_id);
CREATE TABLE vectors (
    row_id INTEGER PRIMARY KEY, index_id INTEGER NOT NULL, change INTEGER NOT NULL, nbow BLOB,
    weights TEXT NOT NULL DEFAULT '');
CREATE INDEX vectors_by_change ON vectors (index_id, change);
CREATE TABLE facets (
    index_id INTEGER NOT NULL, row_id INTEGER NOT NULL, field TEXT NOT NULL, text TEXT, number REAL);
CREATE INDEX facets_by_row ON facets (row_id);
CREATE INDEX facets_by_text ON facets (index_id, field, text, row_id);
CREATE INDEX facets_by_number ON facets (index_id, field, number, row_id);
CREATE TABLE idf (
    index_id INTEGER NOT NULL, language TEXT NOT NULL, n_documents INTEGER NOT NULL, term_ids BLOB NOT NULL,
    counts BLOB NOT NULL, PRIMARY KEY (index_id, language));
CREATE TABLE hubness_samples (index_id INTEGER PRIMARY KEY, sample TEXT NOT NULL);
CREATE TABLE claims (name TEXT PRIMARY KEY, owner TEXT NOT NULL, claimed_until REAL NOT NULL);
"""

# What brings a store of an earlier layout to the next one, by its layout.
_UPGRADES = {
    1: """
CREATE TABLE aliases (name TEXT PRIMARY KEY, index_id INTEGER NOT NULL);
ALTER TABLE vectors ADD COLUMN weights TEXT NOT NULL DEFAULT '';
""",
    2: "CREATE TABLE hubness_samples (index_id INTEGER PRIMARY KEY, sample TEXT NOT NULL);",
    3: "CREATE TABLE IF NOT EXISTS claims (name TEXT PRIMARY KEY, owner TEXT NOT NULL, claimed_until REAL NOT NULL);",
}

# Connections that a parent process opened: SQLite forbids a child even to close them, so they are kept from collection.
_inherited: list[sqlite3.Connection] = []


class SqliteFile:
    """The store's file in its folder. Connections are pooled: one thread uses one at a time."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._process_id = os.getpid()
        self._identity: tuple[int, int] | None = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one moment of the file, whatever others write meanwhile.

        Raises:
            NotFound: there is no store yet.
            StoreUnavailable: the file is damaged, locked or not readable.
        """
        with self._connection() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that is written whole or not at all; waits for another writer's.

        Args:
            create: makes the folder and the file where they are missing.

        Raises:
            NotFound, StoreUnavailable: as `reading`.
        """
        if create:
            self._create()
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        for connection in self._take_idle():
            connection.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = identity = None
        try:
            with self._lock:
                self._forget_stale()
                identity = self._identity
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._open()
            yield connection
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
                connection = None
            raise self._failure(error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise BadInput(f"a value cannot be kept or searched for ({error}); give valid text and numbers") from error
        finally:
            if connection is not None:
                self._give_back(connection, identity)

    def _give_back(self, connection: sqlite3.Connection, identity: tuple[int, int] | None) -> None:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            with self._lock:
                if identity == self._identity:
                    self._idle.append(connection)
                    return
        connection.close()  # the file was deleted or replaced meanwhile

    def _forget_stale(self) -> None:
        """Drops pooled connections of a parent process, or of a file that has since been deleted or replaced."""
        if self._process_id != os.getpid():
            _inherited.extend(self._idle)
            self._idle = []
            self._process_id = os.getpid()
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            identity = None
        except OSError as error:
            raise StoreUnavailable(
                f"the store {self.folder} cannot be read ({error.strerror}); check its rights"
            ) from error
        else:
            identity = (status.st_dev, status.st_ino)
        if identity != self._identity:
            for connection in self._idle:
                connection.close()
            self._idle = []
            self._identity = identity
        if identity is None:
            raise self._not_there()

    def _take_idle(self) -> list[sqlite3.Connection]:
        with self._lock:
            idle, self._idle = self._idle, []
        if self._process_id != os.getpid():
            _inherited.extend(idle)
            return []
        return idle

    def _open(self) -> sqlite3.Connection:
        connection = self._connect("rw")
        try:
            found = connection.execute("PRAGMA application_id").fetchone()[0]
            if found == 0 and not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                raise self._not_there()  # a file without tables: its making was broken off
            if found != APPLICATION_ID:
                raise StoreUnavailable(f"{self.path} is not a store of Sinkrank; name another folder")
            layout = self._upgrade(connection)
            if layout != LAYOUT_VERSION:
                raise VersionMismatch(
                    f"the store {self.folder} has layout {layout}, this Sinkrank reads {LAYOUT_VERSION}; ingest the "
                    f"documents into a new folder with `sinkrank ingest FILE --store PATH`"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _upgrade(self, connection: sqlite3.Connection) -> int:
        """Brings a store of an earlier layout to this one; gives the layout that it has then."""
        layout = _layout(connection)
        if layout in _UPGRADES:
            connection.execute("BEGIN IMMEDIATE")
            # Another process may have been quicker.
            while (layout := _layout(connection)) in _UPGRADES:
                for statement in _UPGRADES[layout].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {layout + 1}")
            connection.execute("COMMIT")
        return layout

    def _create(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"the store {self.folder} cannot be made ({error.strerror}); name another folder"
            ) from error
        try:
            with closing(self._connect("rwc")) as connection:
                if connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                    return
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                # Another process may have been quicker.
                if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                    for statement in _TABLES.split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {LAYOUT_VERSION}")
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(self.path))}?mode={mode}",
            uri=True,
            timeout=self._timeout_s,
            isolation_level=None,  # transactions are begun and ended by hand
            check_same_thread=False,  # the pool sees to it that one thread has a connection at a time
        )

    def _not_there(self) -> NotFound:
        return NotFound(
            f"there is no store at {str(self.folder)!r}; make one with "
            f"`sinkrank ingest FILE --index NAME --store {self.folder}`"
        )

    def _failure(self, error: sqlite3.Error) -> StoreUnavailable:
        reason = str(error)
        if "locked" in reason or "busy" in reason:
            return StoreUnavailable(
                f"the store {self.folder} was locked by another process for {self._timeout_s:g} s; wait until it has "
                f"written, or raise the time-out"
            )
        if "no such module" in reason:
            return StoreUnavailable(
                f"this Python's SQLite has no FTS5 ({reason}); use another Python, or an engine as store"
            )
        if "readonly" in reason or "unable to open" in reason or "full" in reason or "disk I/O" in reason:
            return StoreUnavailable(
                f"the store {self.folder} cannot be used ({reason}); its folder must be writable and its disk not full"
            )
        return StoreUnavailable(
            f"the store {self.folder} cannot be read and may be damaged ({reason}); delete the folder and ingest the "
            f"documents again with `sinkrank ingest FILE --index NAME --store {self.folder}`"
        )


def _layout(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
