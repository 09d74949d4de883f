"""Runs a check that may hang in its own thread, so that callers wait for a limited time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from reranker.answers.operations import Check

# Maximum wait of the first caller. While a check hangs, all others are answered at once.
_LIMIT_S = 2.0
# A result is cached for this time, since several load balancers may ask an instance.
_CACHED_S = 1.0

_log = logging.getLogger(__name__)


class Probe:
    """One check, which runs at most once at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._check: Future[Check] | None = None
        self._started_s = 0.0
        self._ended_s = 0.0

    def result(self, check: Callable[[], Check]) -> Check:
        """The result of the check, at most a second old; not ready while the check hangs."""
        with self._lock:
            now_s = time.monotonic()
            if self._check is None or (self._check.done() and now_s - self._ended_s >= _CACHED_S):
                started: Future[Check] = Future()
                threading.Thread(target=self._run, args=[check, started], name="probe", daemon=True).start()
                self._check, self._started_s = started, now_s  # where the system gives no thread, the next caller tries
            running, left_s = self._check, max(0.0, self._started_s + _LIMIT_S - now_s)
        try:
            return running.result(left_s)
        except TimeoutError:
            return Check(ready=False, message=f"the store did not respond within {_LIMIT_S:g} s")

    def _run(self, check: Callable[[], Check], running: Future[Check]) -> None:
        try:
            found = check()
        except Exception as error:
            _log.exception("the store could not be checked")
            found = Check(ready=False, message=f"the check failed ({type(error).__name__}); the log has the details")
        self._ended_s = time.monotonic()
        running.set_result(found)
