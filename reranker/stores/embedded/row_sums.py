"""Checksums of rows: each row that a search reads is compared with what was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from zlib import crc32

from reranker.base.errors import StoreDamaged

NO_SUM = 0
"""Stands in rows that were written before there were checksums, which are not compared."""


def row_sum(*values: str | bytes | int | float | None) -> int:
    """The CRC-32 of the values with their types and lengths, from 1; CRC-32 finds every damage of up to 32 bits in a
    row, and any other but one in 4 billion."""
    parts = [value if isinstance(value, bytes) else str(value).encode() for value in values]
    kinds = "".join([f"{type(value).__name__[0]}{len(part)}" for value, part in zip(values, parts, strict=True)])
    return crc32(b"".join(parts), crc32(kinds.encode())) or 1


def check_row(found: object, table: str, key: object, *values: str | bytes | int | float | None) -> None:
    """Compares a row's checksum with its values.

    Args:
        found: the checksum that the row has.
        table, key: name the row in the error.

    Raises:
        StoreDamaged: the row is not what was written.
    """
    if found != row_sum(*values) and found != NO_SUM:
        raise wrong_row(table, key)


def check_vectors(rows: Sequence[tuple[int, int, int, bytes | None, str, int]]) -> None:
    """Compares rows of `vectors` (row_id, index_id, change, nbow, weights, row_sum) with their checksums; many at a
    time, since all of an index are read at once.

    Raises:
        StoreDamaged: a row is not what was written.
    """
    for row_id, index_id, change, nbow, weights, found in rows:
        if found != vector_sum(row_id, index_id, change, nbow, weights) and found != NO_SUM:
            raise wrong_row("vectors", row_id)


def vector_sum(row_id: int, index_id: int, change: int, nbow: bytes | None, weights: str) -> int:
    """The checksum of a row of `vectors`."""
    start = crc32(b"%d %d %d %d" % (row_id, index_id, change, -1 if nbow is None else len(nbow)))
    return crc32(nbow or b"", crc32(weights.encode(), start)) or 1


def wrong_row(table: str, key: object) -> StoreDamaged:
    """What a damaged row is; `SqliteFile` adds the file and the cure."""
    return StoreDamaged(f"row {key} of the table {table} is not what was written")


def set_index_sum(connection: sqlite3.Connection, index_id: int) -> None:
    """Renews the checksum of a row of `indices`."""
    row = connection.execute(
        "SELECT name, generation, meta, changes FROM indices WHERE index_id = ?", (index_id,)
    ).fetchone()
    connection.execute("UPDATE indices SET row_sum = ? WHERE index_id = ?", (row_sum(index_id, *row), index_id))
