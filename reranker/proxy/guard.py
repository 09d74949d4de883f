"""Decides whether a search may be re-ranked now, and ends what takes too long: the engine's order is the way out."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from reranker.proxy.breaker import CircuitBreaker
from reranker.proxy.deadline import Deadline
from reranker.proxy.engine_call import out_of_time
from reranker.proxy.fallback import Fallback

Result = TypeVar("Result")


class NotNow(Exception):
    """No re-ranking at this moment; `reason` is `busy` or `breaker_open`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Turn:
    """One search's leave to be re-ranked.

    Attributes:
        succeeded: how it went; None where it says nothing about re-ranking.
    """

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._running: Future[Any] | None = None
        self.succeeded: bool | None = None

    def run(self, work: Callable[[], Result], deadline: Deadline) -> Result:
        """The work's result, if it comes in time; what the work raises is raised.

        Raises:
            Fallback: there is no time left. A kernel under way cannot be stopped: it ends in its own time.
        """
        left_s = deadline.left_s
        if not left_s:
            raise out_of_time()
        running = self._threads.submit(contextvars.copy_context().run, work)
        self._running = running
        self.succeeded = False
        try:
            result = running.result(left_s)
        except Fallback:
            self.succeeded = None  # the engine's doing
            raise
        except TimeoutError:
            if running.done():
                raise  # the work's own error
            running.cancel()
            raise out_of_time() from None
        self.succeeded = True
        return result

    def when_over(self, release: Callable[[], None]) -> None:
        """Calls `release` once nothing of it runs any more."""
        if self._running is None:
            release()
        else:
            self._running.add_done_callback(lambda _: release())


class Guard:
    """Counts the re-rankings under way; safe to share between threads.

    Args:
        n_at_once: how many may be; those that outlast their time count until they end.
    """

    def __init__(self, n_at_once: int, breaker: CircuitBreaker) -> None:
        self._threads = ThreadPoolExecutor(n_at_once, thread_name_prefix="proxy-rerank")
        self._free = threading.BoundedSemaphore(n_at_once)
        self.breaker = breaker

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """A turn, at once.

        Raises:
            NotNow: too many are under way, or they fail.
        """
        if not self._free.acquire(blocking=False):
            raise NotNow("busy")
        if not self.breaker.enter():
            self._free.release()
            raise NotNow("breaker_open")
        turn = Turn(self._threads)
        try:
            yield turn
        finally:
            self.breaker.leave(turn.succeeded)
            turn.when_over(self._free.release)
