"""Checksums of rows, with which a search checks each row that it reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from zlib import crc32

from reranker.base.errors import StoreDamaged


def row_sum(numbers: tuple[int, ...], *texts: str) -> int:
    """Returns the CRC-32 of a row's values and the lengths of its texts. CRC-32 detects every damage within 32
    consecutive bits, and any other but one in 4 billion.

    Raises:
        TypeError: one of the texts is no string.
    """
    lengths = repr(numbers + tuple(map(len, texts)))
    return crc32("\0".join(texts).encode(), crc32(lengths.encode()))


def check_row(found: object, table: str, key: object, numbers: tuple[int, ...], *texts: str) -> None:
    """Compares a row's checksum with its values.

    Args:
        found: the checksum in the row.
        table, key: of the row, for the error.

    Raises:
        StoreDamaged: they differ.
    """
    try:
        is_right = found == row_sum(numbers, *texts)
    except TypeError:  # SQLite stores each value's type in the row
        is_right = False
    if not is_right:
        raise wrong_row(table, key)


def blobs_sum(blobs: Sequence[bytes], numbers: tuple[int, ...], *texts: str) -> int:
    """Like `row_sum`, for a row with blobs."""
    return row_sum((*numbers, *map(len, blobs), *map(crc32, blobs)), *texts)


def check_blobs(
    found: object, table: str, key: object, blobs: Sequence[bytes], numbers: tuple[int, ...], *texts: str
) -> None:
    """Like `check_row`, for a row with blobs."""
    if not all(isinstance(blob, bytes) for blob in blobs):
        raise wrong_row(table, key)
    check_row(found, table, key, (*numbers, *map(len, blobs), *map(crc32, blobs)), *texts)


def check_vectors(rows: Sequence[tuple[int, int, int, bytes | None, str, int]]) -> None:
    """Compares rows of `vectors` (row_id, index_id, change, nbow, weights, row_sum) with their checksums.

    Raises:
        StoreDamaged: a checksum differs.
    """
    for row in rows:
        try:
            is_right = row[5] == vector_sum(*row[:5])
        except (TypeError, AttributeError):  # SQLite stores each value's type in the row
            is_right = False
        if not is_right:
            raise wrong_row("vectors", row[0])


def vector_sum(row_id: int, index_id: int, change: int, nbow: bytes | None, weights: str) -> int:
    """The checksum of a row of `vectors`."""
    start = crc32(b"%d %d %d %d" % (row_id, index_id, change, -1 if nbow is None else len(nbow)))
    return crc32(nbow or b"", crc32(weights.encode(), start))


def wrong_row(table: str, key: object) -> StoreDamaged:
    """The error of a damaged row; `SqliteFile` adds the file and the cure."""
    return StoreDamaged(f"row {key} of the table {table} is not what was written")


def set_index_sum(connection: sqlite3.Connection, index_id: int) -> None:
    """Renews the checksum of a row of `indices`."""
    row = connection.execute(
        "SELECT changes, name, generation, meta FROM indices WHERE index_id = ?", (index_id,)
    ).fetchone()
    found = row_sum((index_id, row[0]), *row[1:])
    connection.execute("UPDATE indices SET row_sum = ? WHERE index_id = ?", (found, index_id))
