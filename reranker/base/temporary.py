"""A temporary folder that is removed even if its process is killed: the next process that makes one of the same prefix
removes it."""

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

# A folder is not locked in the moment after its creation.
_MIN_AGE_SECONDS = 60.0


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder, removed at the end by the process that made it. Also removes the folders of this user's killed
    processes; a process that was forked from one keeps it.

    Args:
        prefix: of the folder's name; what else begins with it is taken for such a folder.
        parent: where it is made; the system's temporary folder where it is None.
    """
    _remove_left(prefix, Path(tempfile.gettempdir()) if parent is None else parent)
    owner, folder = os.getpid(), Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    with _locked(folder):
        try:
            yield folder
        finally:
            if os.getpid() == owner:
                shutil.rmtree(folder, ignore_errors=True)


def _remove_left(prefix: str, parent: Path) -> None:
    for path in parent.glob(f"{prefix}*"):
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
