"""Loads the transport's compiled loops before the service serves, or compiles them in the background."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reranker.answers import Check
from reranker.transport import compilation
from reranker.transport.warming import loads_quickly, warm_up

_log = logging.getLogger(__name__)

_COMPILING = "compiling in the background: until then re-ranking takes longer"


class Kernels:
    """The state of the kernels in this process.

    On a new machine they take a minute to compile. Until then NumPy re-ranks (`compilation`), so the service answers at
    once.
    """

    def __init__(self) -> None:
        self._is_loaded = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem: str | None = None
        self._turn: int | None = None

    @property
    def is_loaded(self) -> bool:
        return self._is_loaded.is_set()

    @property
    def is_usable(self) -> bool:
        """Whether the process serves: the kernels are loaded or being compiled. Before that it may still fork."""
        return self.is_loaded or self._thread is not None

    def load(self) -> None:
        """Compiles the kernels, or loads them from disk; returns when they are ready."""
        warm_up()
        compilation.finish()
        self._is_loaded.set()

    def load_if_quick(self) -> bool:
        """Loads kernels that an earlier process has compiled, otherwise postpones them. Call it before the first fork.

        Returns:
            Whether they are loaded; if not, call `start` in each process that serves.
        """
        if loads_quickly():
            self.load()
        else:
            compilation.defer()
            self._turn = _nameless_file()
        return self.is_loaded

    def start(self) -> None:
        """Compiles postponed kernels in the background."""
        if not self.is_loaded and self._thread is None:
            self._thread = threading.Thread(target=self._compile, name="sinkrank-kernels", daemon=True)
            self._thread.start()

    def check(self) -> Check:
        """The check of `/-/ready`. While they are compiled the service is ready."""
        message = self._problem or _COMPILING
        return Check(ready=self.is_usable, message=None if self.is_loaded or not self.is_usable else message)

    def _compile(self) -> None:
        started = time.monotonic()
        try:
            with _exclusive(self._turn):
                self.load()
        except Exception as error:  # a compiler may fail in any way; NumPy goes on
            self._problem = f"the kernels do not compile ({error}): re-ranking takes longer; see `sinkrank doctor`"
            _log.exception("the kernels do not compile; re-ranking takes longer")
        else:
            _log.info(
                "the kernels are compiled, after %.0f s; re-ranking has its full speed", time.monotonic() - started
            )


def _nameless_file() -> int | None:
    """A lock file, so that one of the forked processes compiles and the others then find the code on disk. It is open
    as long as the process. None on Windows, where there is only one process."""
    if os.name != "posix":
        return None
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@contextmanager
def _exclusive(file: int | None) -> Iterator[None]:
    """A lock for one process at a time, which is released when the process ends."""
    if file is None:
        yield
        return
    import fcntl

    fcntl.lockf(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.lockf(file, fcntl.LOCK_UN)
