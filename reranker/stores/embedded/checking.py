"""Checks the whole file of the store, in steps, so that the caller may pause between them.

SQLite compares its pages with each other and each row with the database indices, FTS5 each full-text table with its
documents' terms. The rows that a search reads have checksums.
"""

# ruff: noqa: S608 - the SQL is built of names of our own tables and columns

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reranker.base.errors import StoreDamaged
from reranker.stores.embedded.file import SqliteFile
from reranker.stores.embedded.queries import SELECT_DOCUMENTS
from reranker.stores.embedded.rows import VECTOR_COLUMNS, read_document, read_vector_row, words_table

_ROWS_AT_A_TIME = 200


def checked_steps(file: SqliteFile) -> Iterator[None]:
    """Reads everything; yields after each step. After it has found damage the store refuses all reading and writing.

    Full-text tables are checked only where the file may be written: FTS5 takes a writer's lock.

    Raises:
        NotFound: there is no store.
        StoreUnavailable: the file is locked or not readable.
        StoreDamaged: the file is not what was written; the message says where.
    """
    try:
        yield from _pages(file)
        if file.is_writable:
            yield from _full_texts(file)
        yield from _rows(file, SELECT_DOCUMENTS, read_document)
        yield from _rows(file, f"SELECT {VECTOR_COLUMNS} FROM vectors", read_vector_row)
    except StoreDamaged as error:  # SQLite's errors too
        file.mark_damaged(error)
        raise


def _pages(file: SqliteFile) -> Iterator[None]:
    with file.reading() as connection:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise StoreDamaged(" ".join(found.split()))
    yield


def _full_texts(file: SqliteFile) -> Iterator[None]:
    with file.reading() as connection:
        partitions = connection.execute("SELECT partition_id FROM partitions").fetchall()
    for (partition_id,) in partitions:
        table = words_table(partition_id)
        with file.writing() as connection:
            if connection.execute("SELECT 1 FROM partitions WHERE partition_id = ?", (partition_id,)).fetchone():
                connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
        yield


def _rows(file: SqliteFile, select: str, read: Callable[[tuple[Any, ...]], object]) -> Iterator[None]:
    """Reads all rows, some in each transaction: during a long one the write-ahead log could not be emptied."""
    after = -1
    while True:
        with file.reading() as connection:
            sql = f"{select} WHERE row_id > ? ORDER BY row_id LIMIT ?"
            rows = connection.execute(sql, (after, _ROWS_AT_A_TIME)).fetchall()
            for row in rows:
                read(row)
        if not rows:
            return
        after = rows[-1][0]
        yield
