"""Checks the whole file of the store in blocks, so that the caller may pause between blocks.

Each block is read within a transaction that sees the state of the checksums. During such a transaction SQLite moves no
page from the write-ahead log into the file, so a block cannot change while it is read.
"""

# ruff: noqa: S608 - the SQL is built of names of our own columns

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from reranker.base.blocks import WrongBlock, check_blocks
from reranker.base.errors import StoreDamaged, StoreUnavailable
from reranker.stores.embedded.descriptors import descriptor_of
from reranker.stores.embedded.file import SqliteFile
from reranker.stores.embedded.file_sums import FileSums, read_sums, state_of
from reranker.stores.embedded.queries import SELECT_DOCUMENTS
from reranker.stores.embedded.rows import VECTOR_COLUMNS, read_document, read_vector_row

_ROWS_AT_A_TIME = 200


def checked_blocks(file: SqliteFile, *, whole: bool = True) -> Iterator[int]:
    """Compares the file with its checksums; yields the size of each correct block.

    If there are no checksums of the store's current state (the last run that wrote was killed, or one is writing),
    SQLite's own check runs instead, and all documents and vectors are read; it yields 0 for each step. After it has
    found damage the store refuses all reading and writing.

    Args:
        whole: False to skip the check without checksums, which takes ten times as long.

    Raises:
        NotFound: there is no store.
        StoreUnavailable: the file is locked or not readable.
        StoreDamaged: the file is not what was written; the message says where.
    """
    try:
        sums = read_sums(file.path)
        if sums is not None:
            for n_bytes in _compared(file, sums):
                if n_bytes is None:
                    break
                yield n_bytes
            else:
                return
        if whole:
            yield from _read_whole(file)
    except StoreDamaged as error:  # SQLite's errors too
        file.mark_damaged(error)
        raise


def _compared(file: SqliteFile, sums: FileSums) -> Iterator[int | None]:
    """Yields the size of each block; None if the checksums are of another state than the store's."""
    blocks = None
    while True:
        with file.reading() as connection:
            if state_of(connection) != sums.state:
                yield None
                return
            try:
                blocks = blocks or check_blocks(descriptor_of(file.path), sums.n_bytes, sums.blocks)
                n_bytes = next(blocks, None)
            except WrongBlock as error:
                raise StoreDamaged(str(error)) from error
            except OSError as error:
                raise StoreUnavailable(f"{file.path} cannot be read ({error.strerror}); check its rights") from error
        if n_bytes is None:
            return
        yield n_bytes


def _read_whole(file: SqliteFile) -> Iterator[int]:
    with file.reading() as connection:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise StoreDamaged(" ".join(found.split()))
    yield 0
    for after in _row_ids(file, "documents"):
        with file.reading() as connection:
            for row in connection.execute(f"{SELECT_DOCUMENTS} WHERE row_id > ? ORDER BY row_id LIMIT ?", _part(after)):
                read_document(row)
        yield 0
    for after in _row_ids(file, "vectors"):
        with file.reading() as connection:
            sql = f"SELECT {VECTOR_COLUMNS} FROM vectors WHERE row_id > ? ORDER BY row_id LIMIT ?"
            for row in connection.execute(sql, _part(after)):
                read_vector_row(row)
        yield 0


def _row_ids(file: SqliteFile, table: str) -> Iterator[int]:
    """Yields the row ids that precede each batch of `_ROWS_AT_A_TIME` rows."""
    after: int | None = -1
    while after is not None:
        yield after
        with file.reading() as connection:
            after = _last(connection, table, after)


def _last(connection: sqlite3.Connection, table: str, after: int) -> int | None:
    sql = f"SELECT max(row_id) FROM (SELECT row_id FROM {table} WHERE row_id > ? ORDER BY row_id LIMIT ?)"
    row: tuple[int | None] = connection.execute(sql, _part(after)).fetchone()
    return row[0]


def _part(after: int) -> tuple[int, int]:
    return after, _ROWS_AT_A_TIME
