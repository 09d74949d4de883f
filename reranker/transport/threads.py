"""Runs pieces of work on as many threads as it was told, with BLAS held to one thread of its own meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


class _BlasLimit:
    """Holds BLAS to one thread while at least one caller is inside.

    The limit is the whole process's. Callers that overlap are counted: if each kept and put back what it found, the one
    that came second would put back 1 for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._controller: ThreadpoolController | None = None
        self._limiter: object = None

    def enter(self) -> None:
        with self._lock:
            self._n_inside += 1
            if self._n_inside == 1:
                if self._controller is None:
                    # Looking through all loaded libraries takes 13 ms, once; setting the limit 0.05 ms.
                    self._controller = ThreadpoolController()
                self._limiter = self._controller.limit(limits=1, user_api="blas")

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._restore()

    def reset_after_fork(self) -> None:
        """The threads that were inside, or held the lock, are not in the child."""
        self._lock = threading.Lock()
        self._n_inside = 0
        self._restore()

    def _restore(self) -> None:
        if self._limiter is not None:
            self._limiter.restore_original_limits()  # type: ignore[attr-defined]
            self._limiter = None


_blas_limit = _BlasLimit()
os.register_at_fork(after_in_child=_blas_limit.reset_after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS uses one thread inside: n threads that call it are then n threads, and its sums are always the same."""
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()


def run(work: Callable[[int, int], None], pieces: Iterable[tuple[int, int]], n_threads: int) -> None:
    """Calls `work(start, end)` for every piece, on at most `n_threads` threads; the first error is raised."""
    pieces = list(pieces)
    if n_threads == 1 or len(pieces) < 2:
        for start, end in pieces:
            work(start, end)
        return
    # A pool of its own for each call (0.1 ms): a shared one would not survive a fork.
    with ThreadPoolExecutor(min(n_threads, len(pieces))) as pool:
        for future in [pool.submit(work, start, end) for start, end in pieces]:
            future.result()
