"""Checksums of rows, with which a search checks each row that it reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from zlib import crc32

from reranker.base.errors import StoreDamaged


def row_sum(numbers: tuple[int, ...], *texts: str, blobs: Sequence[bytes] = ()) -> int:
    """Returns the CRC-32 of a row's values and the lengths of its texts and blobs. CRC-32 detects every damage within
    32 consecutive bits, and any other but one in 4 billion.

    Raises:
        TypeError: a text is no string, or a blob no bytes.
    """
    lengths = repr((*numbers, *map(len, texts), *map(len, blobs)))
    found = crc32("\0".join(texts).encode(), crc32(lengths.encode()))
    for blob in blobs:
        found = crc32(blob, found)
    return found


def check_row(
    found: object, table: str, key: object, numbers: tuple[int, ...], *texts: str, blobs: Sequence[bytes] = ()
) -> None:
    """Compares a row's checksum with its values.

    Args:
        found: the checksum in the row.
        table, key: of the row, for the error.

    Raises:
        StoreDamaged: they differ.
    """
    try:
        is_right = found == row_sum(numbers, *texts, blobs=blobs)
    except TypeError:  # SQLite stores each value's type in the row
        is_right = False
    if not is_right:
        raise wrong_row(table, key)


def wrong_row(table: str, key: object) -> StoreDamaged:
    """The error of a damaged row; `SqliteFile` adds the file and the cure."""
    return StoreDamaged(f"row {key} of the table {table} has changed since it was written")


def set_index_sum(connection: sqlite3.Connection, index_id: int) -> None:
    """Renews the checksum of a row of `indices`."""
    row = connection.execute(
        "SELECT changes, name, generation, meta FROM indices WHERE index_id = ?", (index_id,)
    ).fetchone()
    found = row_sum((index_id, row[0]), *row[1:])
    connection.execute("UPDATE indices SET row_sum = ? WHERE index_id = ?", (found, index_id))
