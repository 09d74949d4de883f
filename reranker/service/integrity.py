"""Checks the files that the service reads, in the background after the start, in threads of low priority.

Damage is logged and makes the service not ready; what reads the damaged files gives errors from then on.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from reranker.base.errors import BadEmbeddings, SinkrankError, StoreDamaged
from reranker.service.metrics import Metrics

Blocks = Callable[[], Iterator[object]]
"""Reads a part's files: yields after each block that is right, and raises an error at one that is wrong."""

# A pause after each block of as many times as long as it took: a fifth of a core at most.
_PAUSE = 4.0
_LEAST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.002, 1.0
_LOWEST_PRIORITY = 19
# SQLite's own check of a large file cannot be interrupted.
_LONGEST_STOP_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Integrity:
    """The checks of one service, each part once. They start after the last fork, which threads do not survive."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._problems: dict[str, str] = {}

    def start(self, part: str, blocks: Blocks) -> None:
        """Starts the check of a part, unless this process has started it."""
        with self._lock:
            if part not in self._threads and not self._is_stopped.is_set():
                name = f"sinkrank-check-{part}"
                self._threads[part] = threading.Thread(target=self._check, args=(part, blocks), name=name, daemon=True)
                self._threads[part].start()

    def stop(self) -> None:
        """Ends the checks, which then log nothing; call it before the files are closed or deleted."""
        self._is_stopped.set()
        self.wait(_LONGEST_STOP_SECONDS)

    def problem(self, part: str) -> str | None:
        """What is wrong with a part; None where nothing is known to be."""
        return self._problems.get(part)

    @property
    def problems(self) -> Mapping[str, str]:
        return dict(self._problems)

    def wait(self, seconds: float) -> bool:
        """Waits for the checks that were started; whether they have ended."""
        deadline = time.monotonic() + seconds
        for thread in list(self._threads.values()):
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in list(self._threads.values()))

    def _check(self, part: str, blocks: Blocks) -> None:
        with suppress(AttributeError, OSError):  # on Linux the priority is one thread's
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        started = time.perf_counter()
        try:
            for _ in blocks():
                self._metrics.checked_blocks.labels(part).inc()
                pause = _PAUSE * (time.perf_counter() - started)
                if self._is_stopped.wait(min(max(pause, _LEAST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)):
                    return
                started = time.perf_counter()
        except SinkrankError as error:
            if not self._is_stopped.is_set():  # else its files may be gone
                self._failed(part, error)
        else:
            _log.info("checked the %s: undamaged", part)

    def _failed(self, part: str, error: SinkrankError) -> None:
        if not isinstance(error, StoreDamaged | BadEmbeddings):
            _log.warning("the check of the %s ended early: %s", part, error)
            return
        self._metrics.damaged_parts.labels(part).inc()
        self._problems[part] = f"{error}; then start the service again"
        _log.error("%s; the service is not ready", error)
