"""Finds out how the store's file can be opened, from its rights: for writing, for reading, or as a file that nobody
writes."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from reranker.stores.embedded.cached import CachedConnection

Mode = Literal["rwc", "rw", "ro", "immutable"]


@dataclass(frozen=True, slots=True)
class Access:
    """How a file can be opened now. When this changes, the connections to the file are closed.

    Attributes:
        mode: `ro` if there is a write-ahead log, whose shared memory another process keeps; `immutable` if there is no
            log and none can be made: SQLite then takes no locks and does not notice changes.
        identity: of the file; with `immutable`, of its contents too.
    """

    mode: Mode
    identity: tuple[int, ...]


def access_of(path: Path) -> Access:
    """Finds out how a file can be opened.

    Raises:
        OSError: there is no such file, or its folder cannot be read.
    """
    status = path.stat()
    identity = (status.st_dev, status.st_ino)
    # SQLite creates files beside it, even to read.
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK):
        return Access("rw", identity)
    beside = (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm"))
    if any(each.exists() and each.stat().st_size for each in beside):
        return Access("ro", identity)
    return Access("immutable", (*identity, status.st_mtime_ns, status.st_size))


def connect(path: Path, mode: Mode, timeout_s: float) -> CachedConnection:
    """Opens the file."""
    how = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    return sqlite3.connect(
        f"file:{quote(str(path))}?{how}",
        uri=True,
        timeout=timeout_s,
        factory=CachedConnection,
        isolation_level=None,  # our code begins and ends transactions
        check_same_thread=False,  # the pool gives a connection to one thread at a time
    )
