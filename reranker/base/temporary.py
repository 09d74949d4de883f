"""A temporary folder that is removed even if its process is killed: the next process that makes one of the same prefix
removes it."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from reranker.base.errors import BadInput

# A folder is not locked in the moment after its creation.
_MIN_AGE_SECONDS = 60.0


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder, removed at the end by the process that made it. Also removes the folders of this user's killed
    processes; a process that was forked from one keeps it.

    Args:
        prefix: of the folder's name; what else begins with it is taken for such a folder.
        parent: where it is made; the system's temporary folder where it is None.

    Raises:
        BadInput: there is no such folder.
    """
    try:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
    except FileNotFoundError as error:
        raise BadInput(f"{error.strerror}; set TMPDIR to a folder that can be written to") from error
    _remove_left(prefix, parent)
    owner, folder = os.getpid(), Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with _lock_of(folder):
            yield folder
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_left(prefix: str, parent: Path) -> None:
    for path in parent.glob(f"{glob.escape(prefix)}*"):
        with suppress(OSError):  # in use, or removed meanwhile
            found = path.lstat()
            is_old = time.time() - found.st_mtime > _MIN_AGE_SECONDS
            if stat.S_ISDIR(found.st_mode) and _is_ours(found) and is_old:
                with _lock_of(path):
                    pass
                shutil.rmtree(path)  # after the lock: Windows removes no open file


def _is_ours(found: os.stat_result) -> bool:
    return os.name == "nt" or found.st_uid == os.getuid()  # Windows has no user ids


def _lock_of(folder: Path) -> FileLock:
    """The folder's lock, which the system frees when the process ends. TimeoutError if another process holds it."""
    return FileLock(folder / ".lock", blocking=False, thread_local=False)
