"""A temporary folder that is removed even if its process is killed: the next process that makes one removes it."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "sinkrank-input-"
# A folder is not locked in the moment after its creation.
_MIN_AGE_SECONDS = 60.0


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, removed at the end. Also removes the folders of this user's killed processes."""
    _remove_left()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, _locked(Path(name)):
        yield Path(name)


def _remove_left() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # in use, or removed meanwhile
            found = path.lstat()
            is_old = time.time() - found.st_mtime > _MIN_AGE_SECONDS
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and is_old:
                with _locked(path):
                    shutil.rmtree(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; the system frees it when the process ends. BlockingIOError if another holds it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
