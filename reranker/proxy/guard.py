"""Decides whether a search may be re-ranked now, and ends what takes too long: the engine's order is the way out."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from reranker.upstream.calls import Deadline, Fallback, out_of_time

# Failures in a row that pause re-ranking, and the length of the pause.
BREAKER_FAILURES = 5
BREAKER_REST_S = 30.0

_log = logging.getLogger(__name__)


class CircuitBreaker:
    """Stops re-ranking for a while after failures in a row, so that searches that would fail do not wait for it. Safe
    to share between threads.

    closed      re-rankings run; `n_failures` in a row open it
    open        none runs for `rest_s`
    half open   one runs: if it succeeds the breaker closes, else it opens again

    pybreaker does not fit: it holds a lock while the protected call runs, so that calls would wait for each other.

    Args:
        n_failures: in a row, that open it.
        rest_s: how long it stays open before one call is tried.
        clock: in seconds.
        on_state: told of each new state.
    """

    def __init__(
        self,
        n_failures: int,
        rest_s: float,
        clock: Callable[[], float] = time.monotonic,
        on_state: Callable[[str], None] = lambda state: None,
    ) -> None:
        self.n_failures = n_failures
        self.rest_s = rest_s
        self.clock = clock
        self._on_state = on_state
        self._failed = 0
        self._opened_at: float | None = None
        self._is_trying = False
        self._lock = threading.Lock()

    @property
    def state(self) -> str:
        """`closed`, `open` or `half_open`."""
        opened_at = self._opened_at
        if opened_at is None:
            return "closed"
        return "open" if self.clock() - opened_at < self.rest_s else "half_open"

    def enter(self) -> bool:
        """Whether a call may run; who gets True calls `leave`."""
        with self._lock:
            if self._opened_at is None:
                return True
            if self._is_trying or self.state == "open":
                return False
            self._is_trying = True
        self._on_state("half_open")
        return True

    def leave(self, succeeded: bool | None) -> None:
        """A call has ended.

        Args:
            succeeded: None where it says nothing about the protected work.
        """
        with self._lock:
            self._is_trying = False
            if succeeded is None:
                return
            was_open = self._opened_at is not None
            self._failed = 0 if succeeded else self._failed + 1
            is_open = not succeeded and (was_open or self._failed >= self.n_failures)
            self._opened_at = self.clock() if is_open else None
        if is_open or was_open:
            self._on_state("open" if is_open else "closed")
        if is_open and not was_open:
            _log.warning("re-ranking failed %d times in a row and pauses for %g s", self.n_failures, self.rest_s)
        elif was_open and not is_open:
            _log.warning("re-ranking works again")


Result = TypeVar("Result")


class Guard:
    """Counts the re-rankings under way; safe to share between threads.

    Args:
        n_at_once: how many may be; those that outlast their time count until they end.
    """

    def __init__(self, n_at_once: int, breaker: CircuitBreaker) -> None:
        self._threads = ThreadPoolExecutor(n_at_once, thread_name_prefix="proxy-rerank")
        self._n_at_once = n_at_once
        self._unfinished: set[object] = set()
        self.breaker = breaker

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """A slot for a search to be re-ranked in. It does not count while it waits for the engine.

        Raises:
            Fallback: too many re-rankings are under way (`busy`), or they fail (`breaker_open`).
        """
        if len(self._unfinished) >= self._n_at_once:
            raise Fallback("busy")
        if not self.breaker.enter():
            raise Fallback("breaker_open")
        slot = Slot(self._threads, self._unfinished)
        try:
            yield slot
        finally:
            self.breaker.leave(slot.succeeded)


@dataclass(slots=True)
class Slot:
    """Where one request is re-ranked.

    Attributes:
        threads: that do the work.
        unfinished: one object for each work of all searches that waits or goes on.
        succeeded: how the last work that counts went; None where it says nothing about re-ranking.
    """

    threads: ThreadPoolExecutor
    unfinished: set[object]
    succeeded: bool | None = None

    def run(self, work: Callable[[], Result], deadline: Deadline, counts: bool = True) -> Result:
        """The work's result, if it comes in time; what the work raises is raised.

        Args:
            counts: whether it is re-ranking itself, which pauses if it fails time after time.

        Raises:
            Fallback: there is no time left. A kernel under way cannot be stopped: it ends in its own time.
        """
        left_s = deadline.left_s
        if not left_s:
            raise out_of_time()
        # It counts from before it can begin until before its result is known: a search that follows does not meet it.
        counted = object()
        self.unfinished.add(counted)

        def count_and_work() -> Result:
            try:
                return work()
            finally:
                self.unfinished.discard(counted)

        running = self.threads.submit(contextvars.copy_context().run, count_and_work)
        succeeded: bool | None = False
        try:
            result = running.result(left_s)
            succeeded = True
        except Fallback:
            succeeded = None  # the engine's doing
            raise
        except TimeoutError:
            if running.done():
                raise  # the work's own error
            if running.cancel():
                self.unfinished.discard(counted)
                succeeded = None  # it has not begun
                raise Fallback("busy", "other re-rankings took all the time; see the setting workers") from None
            raise out_of_time() from None
        finally:
            if counts:
                self.succeeded = succeeded
        return result
