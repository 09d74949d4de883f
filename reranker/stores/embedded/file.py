"""Opens the store's SQLite file, provides its transactions, and maps SQLite's errors to ours."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from reranker.base.errors import BadInput, NotFound, StoreDamaged, StoreUnavailable, VersionMismatch
from reranker.stores.base.cures import ingest_command
from reranker.stores.embedded.access import Access, access_of, connect
from reranker.stores.embedded.cached import Cached, CachedConnection
from reranker.stores.embedded.layout import (
    APPLICATION_ID,
    LAYOUT_VERSION,
    has_tables,
    layout_of,
    make_tables,
)

FILE_NAME = "store.sqlite3"


class _Opened:
    """The file as it can be opened now.

    Attributes:
        idle: connections that no thread uses.
        cached: of what is in it.
        damage: that was found in it.
    """

    def __init__(self, access: Access, cached: Cached) -> None:
        self.access = access
        self.idle: list[CachedConnection] = []
        self.cached = cached
        self.damage: StoreDamaged | None = None

    def close(self) -> None:
        """Closes unused connections."""
        for connection in self.idle:
            connection.close()
        self.idle = []


class SqliteFile:
    """The store's file in its folder, with a pool of connections. One thread uses a connection at a time. After a fork
    the child must not use what the parent has used (SQLite's rule)."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._opened: _Opened | None = None

    def create(self) -> None:
        """Creates the folder and the file if they are missing.

        Raises:
            StoreUnavailable: they cannot be made, or the folder may only be read.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"the store {self.folder} cannot be made ({error.strerror}); name another folder"
            ) from error
        if not os.access(self.folder, os.W_OK):
            raise self._read_only()
        try:
            with closing(connect(self.path, "rwc", self._timeout_s)) as connection:
                if not has_tables(connection):
                    make_tables(connection, self._timeout_s)
        except sqlite3.Error as error:
            raise self._failure(str(error)) from error

    @contextmanager
    def reading(self) -> Iterator[CachedConnection]:
        """A transaction that sees the file at one moment, whatever others write meanwhile.

        Raises:
            NotFound: there is no store yet.
            StoreUnavailable: the file is locked or not readable.
            StoreDamaged: the file is damaged.
        """
        with self._connection() as (connection, access):
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
            if access.mode == "immutable" and access_of(self.path) != access:
                raise StoreUnavailable(f"the store {self.folder} was written while it was read; search again")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is written completely or not at all. It waits for other writers.

        Raises:
            NotFound, StoreUnavailable, StoreDamaged: as `reading`; StoreUnavailable also if the file is read-only.
        """
        with self._connection() as (connection, access):
            if access.mode != "rw":
                raise self._read_only()
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @property
    def is_writable(self) -> bool:
        """
        Raises:
            NotFound, StoreUnavailable: as `reading`.
        """
        with self._lock:
            return self._look().access.mode == "rw"

    def close(self) -> None:
        """Closes unused connections."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    def mark_damaged(self, error: StoreDamaged) -> None:
        """Makes all reading and writing fail with this error until the file is replaced."""
        if self._opened is not None:
            self._opened.damage = error

    @contextmanager
    def _connection(self) -> Iterator[tuple[CachedConnection, Access]]:
        connection = opened = None
        try:
            with self._lock:
                opened = self._look()
                if opened.damage is not None:
                    raise opened.damage
                connection = opened.idle.pop() if opened.idle else None
            connection = connection or self._open(opened)
            yield connection, opened.access
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
                connection = None
            raise self._failure(str(error)) from error
        except (MemoryError, UnicodeDecodeError) as error:  # a damaged length, or text that SQLite's own error repeats
            raise self._damaged(type(error).__name__) from error
        except StoreDamaged as error:
            if str(self.path) in str(error):
                raise
            raise self._damaged(str(error)) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise BadInput(f"a value cannot be kept or searched for ({error}); give valid text and numbers") from error
        finally:
            if connection is not None:
                self._give_back(connection, opened)

    def _give_back(self, connection: CachedConnection, opened: _Opened | None) -> None:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            with self._lock:
                if opened is not None and opened is self._opened:
                    opened.idle.append(connection)
                    return
        connection.close()  # the file was deleted or replaced meanwhile

    def _look(self) -> _Opened:
        """Finds out how the file can be opened now. Closes pooled connections to a file that was deleted or replaced or
        whose rights have changed, and forgets what was cached of it."""
        try:
            access = access_of(self.path)
        except (FileNotFoundError, NotADirectoryError):
            access = None
        except OSError as error:
            raise StoreUnavailable(
                f"the store {self.folder} cannot be read ({error.strerror}); check its rights"
            ) from error
        before = self._opened
        if before is not None and before.access != access:
            before.close()
            self._opened = None
        if access is None:
            raise self._not_there()
        if self._opened is None:
            is_same_file = before is not None and before.access.identity[:2] == access.identity[:2]
            self._opened = _Opened(access, before.cached if before is not None and is_same_file else Cached())
        return self._opened

    def _open(self, opened: _Opened) -> CachedConnection:
        connection = connect(self.path, opened.access.mode, self._timeout_s)
        connection.cached = opened.cached
        try:
            is_empty = not has_tables(connection)  # asked first: another process may make the tables now
            found = connection.execute("PRAGMA application_id").fetchone()[0]
            if found == 0 and is_empty:
                raise self._not_there()  # its creation was interrupted, or goes on
            if found != APPLICATION_ID:
                raise StoreUnavailable(f"{self.path} is not a store of Sinkrank; name another folder")
            layout = layout_of(connection)
            if layout != LAYOUT_VERSION:
                raise VersionMismatch(
                    f"the store {self.folder} has layout {layout} of another version of Sinkrank, this one reads "
                    f"{LAYOUT_VERSION}; use that version, or ingest the documents into a new folder with "
                    "`sinkrank ingest FILE --store PATH`"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _not_there(self) -> NotFound:
        return NotFound(f"there is no store at {str(self.folder)!r}; make one with {ingest_command(self.folder)}")

    def _read_only(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"the store {self.folder} may only be read: its folder and the files in it must be writable; change their "
            "permissions, or name another folder"
        )

    def _damaged(self, reason: str) -> StoreDamaged:
        return StoreDamaged(
            f"the store {self.path} is damaged: {reason}; restore the folder from a copy, or delete it and ingest the "
            f"documents again with {ingest_command(self.folder)}"
        )

    def _failure(self, reason: str) -> StoreUnavailable:
        """Maps SQLite's error to ours."""
        if "locked" in reason or "busy" in reason:
            return StoreUnavailable(
                f"the store {self.folder} was locked by another process for {self._timeout_s:g} s; wait until it has "
                f"written, or raise the time-out"
            )
        if "no such module" in reason:
            return StoreUnavailable(
                f"this Python's SQLite has no FTS5 ({reason}); use another Python, or an engine as store"
            )
        if "unable to open" in reason and self._opened is not None and self._opened.access.mode == "ro":
            return StoreUnavailable(
                f"the store {self.folder} may only be read, and has a write-ahead log that must be written first; open "
                "it once where it can be written (`sinkrank doctor`), or make its folder writable"
            )
        if "readonly" in reason or "unable to open" in reason or "full" in reason or "disk I/O" in reason:
            return StoreUnavailable(
                f"the store {self.folder} cannot be used ({reason}); its folder must be writable and its disk not full"
            )
        return self._damaged(reason)
