"""Checksums of the blocks of the store's file, in a file beside it. They cover what the rows' checksums do not, such as
full-text tables and SQLite's own pages.

A run that wrote writes `store.sums` when it ends. Each transaction that writes changes the state of the store, and
`store.sums` names its state. So an earlier state's checksums do not count as damage.
"""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from reranker.base.blocks import block_sums
from reranker.stores.embedded.descriptors import descriptor_of

SUMS_NAME = "store.sums"

# While a search of another process reads, the write-ahead log cannot be emptied.
_WAIT_MS = 2_000
_TRIES = 3


@dataclass(frozen=True, slots=True)
class FileSums:
    """Checksums of a store's file in one state; `blocks` is of `reranker.base.blocks`."""

    state: str
    n_bytes: int
    blocks: str


def state_of(connection: sqlite3.Connection) -> str:
    """Returns the state of the store that a transaction sees; empty before the first write."""
    row = connection.execute("SELECT state FROM states").fetchone()
    return str(row[0]) if row else ""


def read_sums(path: Path) -> FileSums | None:
    """Reads the checksums beside a store's file; None if they are missing or damaged."""
    try:
        head, _, body = path.with_name(SUMS_NAME).read_bytes().partition(b"\n")
        if head != _head(body):
            return None
        sums = json.loads(body)
        return FileSums(sums["state"], sums["n_bytes"], sums["blocks"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_sums(path: Path, connection: sqlite3.Connection) -> bool:
    """Writes the checksums of the file. Returns whether it could: another process may be writing or reading.

    Args:
        connection: outside of a transaction.
    """
    connection.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
    for _ in range(_TRIES):
        # The checksums cover only the file, so the write-ahead log must be empty.
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("BEGIN IMMEDIATE")  # nobody writes meanwhile
        try:
            if not busy and not _size(path.with_name(f"{path.name}-wal")):
                _write(path, state_of(connection))
                return True
        finally:
            connection.execute("ROLLBACK")
    return False


def _write(path: Path, state: str) -> None:
    descriptor = descriptor_of(path)
    n_bytes = os.fstat(descriptor).st_size
    sums = {"state": state, "n_bytes": n_bytes, "blocks": block_sums(descriptor, n_bytes)}
    body = json.dumps(sums).encode()
    partial = path.with_name(f".{SUMS_NAME}.{os.getpid()}")
    try:
        partial.write_bytes(_head(body) + b"\n" + body)
        partial.replace(path.with_name(SUMS_NAME))
    finally:
        partial.unlink(missing_ok=True)


def _head(body: bytes) -> bytes:
    return b"%08x" % crc32(body)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
