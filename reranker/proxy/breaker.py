"""Stops re-ranking for a while after failures in a row: searches that would fail are not made to wait for it.

closed      re-rankings run; `n_failures` in a row open it
open        none runs for `rest_s`
half open   one runs: if it succeeds the breaker closes, else it opens again

Libraries of breakers were looked at: pybreaker holds a lock while the protected call runs, so that calls would wait for
each other.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)


class CircuitBreaker:
    """Safe to share between threads.

    Args:
        n_failures: in a row, that open it.
        rest_s: how long it stays open before one call is tried.
    """

    def __init__(self, n_failures: int, rest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._n_failures = n_failures
        self._rest_s = rest_s
        self._clock = clock
        self._failed = 0
        self._opened_at: float | None = None
        self._is_trying = False
        self._lock = threading.Lock()
        self.n_openings = 0

    @property
    def state(self) -> str:
        """`closed`, `open` or `half_open`."""
        with self._lock:
            return self._state()

    def enter(self) -> bool:
        """Whether a call may run; who gets True calls `leave`."""
        with self._lock:
            state = self._state()
            if state == "closed":
                return True
            if state == "open" or self._is_trying:
                return False
            self._is_trying = True
            return True

    def leave(self, succeeded: bool | None) -> None:
        """A call has ended.

        Args:
            succeeded: None where it says nothing about the protected work.
        """
        with self._lock:
            was_open = self._opened_at is not None
            self._is_trying = False
            if succeeded is None:
                return
            self._failed = 0 if succeeded else self._failed + 1
            if succeeded:
                self._opened_at = None
            elif was_open or self._failed >= self._n_failures:
                self._opened_at = self._clock()
                self.n_openings += 1
            is_open = self._opened_at is not None
        if is_open and not was_open:
            _log.warning("re-ranking failed %d times in a row and rests for %g s", self._n_failures, self._rest_s)
        elif was_open and not is_open:
            _log.warning("re-ranking works again")

    def _state(self) -> str:
        if self._opened_at is None:
            return "closed"
        return "open" if self._clock() - self._opened_at < self._rest_s else "half_open"
