"""Opens a SQLite file for reading without SQLite, and keeps the locks that SQLite has on it.

When a process closes any descriptor of a file, POSIX removes all locks of the process on that file
(https://www.sqlite.org/howtocorrupt.html, 2.2). So a descriptor opened here stays open as long as the file exists.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

_lock = threading.Lock()
_descriptors: dict[tuple[int, int], tuple[Path, int]] = {}


def descriptor_of(path: Path) -> int:
    """Returns a descriptor for reading, which the caller must not close.

    Raises:
        OSError: the file cannot be opened.
    """
    with _lock:
        for known, (other, descriptor) in list(_descriptors.items()):
            if _identity(other) != known:  # deleted or replaced: SQLite no longer locks it, and its space becomes free
                os.close(descriptor)
                del _descriptors[known]
        found = _descriptors.get(_identity(path) or (0, 0))
        if found is not None:
            return found[1]
        descriptor = os.open(path, os.O_RDONLY)
        status = os.fstat(descriptor)
        _descriptors[status.st_dev, status.st_ino] = (path, descriptor)
        return descriptor


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
