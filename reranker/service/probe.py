"""Runs a check that may hang in its own thread, so that callers wait for a limited time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from reranker.answers import Check

# Maximum wait of the first caller. While a check hangs, all others are answered at once.
_LIMIT_S = 2.0
# A result is cached for this time, since several load balancers may ask an instance.
_KEPT_S = 1.0

_log = logging.getLogger(__name__)


class Probe:
    """One check, which runs at most once at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: threading.Event | None = None
        self._started_s = 0.0
        self._ended_s = 0.0
        self._found: Check | None = None

    def result(self, check: Callable[[], Check]) -> Check:
        """The result of the check, at most a second old; not ready while the check hangs."""
        with self._lock:
            if self._found is not None and time.monotonic() - self._ended_s < _KEPT_S:
                return self._found
            if self._done is None:
                self._done = threading.Event()
                self._started_s = time.monotonic()
                threading.Thread(target=self._run, args=[check, self._done], name="probe", daemon=True).start()
            done = self._done
            left_s = max(0.0, self._started_s + _LIMIT_S - time.monotonic())
        if done.wait(left_s):
            with self._lock:
                if self._found is not None:
                    return self._found
        return Check(ready=False, message=f"the store did not respond within {_LIMIT_S:g} s")

    def _run(self, check: Callable[[], Check], done: threading.Event) -> None:
        try:
            found = check()
        except Exception as error:
            _log.exception("the store could not be checked")
            found = Check(ready=False, message=f"the check failed ({type(error).__name__}); the log has the details")
        with self._lock:
            self._found, self._ended_s, self._done = found, time.monotonic(), None
            done.set()
