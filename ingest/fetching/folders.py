"""Protects a folder of fetched files: only one process fetches at a time, and digests are checked."""

from __future__ import annotations

import fcntl
import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_log = logging.getLogger(__name__)


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """A lock on a folder, so that two processes do not write the same file. Creates the folder, and logs a warning
    while it waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetching.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.warning("another process fetches files to %s; waiting until it is done", folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sha256_of(path: Path) -> str:
    """The file's digest in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
