"""Runs pieces of work on as many threads as it was told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from reranker.base.errors import BadInput


class _Helpers:
    """Threads that wait for work, shared by all callers: to start one takes longer than many a call."""

    # More callers at once than this find no helper, and work alone.
    MOST = 64

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Also after a fork: the threads of the parent are not in the child."""
        self._pool = ThreadPoolExecutor(self.MOST, thread_name_prefix="transport")

    def submit(self, work: Callable[[], None]) -> Future[None]:
        return self._pool.submit(work)


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_helpers.reset)


def check_n_threads(n_threads: int) -> None:
    """Raises BadInput for what is no number from 1 on."""
    if not isinstance(n_threads, int) or n_threads < 1:
        raise BadInput(f"n_threads is {n_threads!r}; give 1 or more")


# Multiplications below which another thread costs more than it saves: handing work over, and solving in steps, not in
# one call (`solve.is_short`), takes some 200 µs.
_OPERATIONS_OF_A_THREAD = 16_000_000


def worthwhile(n_threads: int, n_operations: int) -> int:
    """How many of the threads are worth their start for so many multiplications together; 1 at least.

    >>> worthwhile(4, 1_000_000), worthwhile(4, 20_000_000), worthwhile(4, 10**9)
    (1, 2, 4)
    """
    return min(n_threads, 1 + n_operations // _OPERATIONS_OF_A_THREAD)


def together(work: Callable[[], None], n_threads: int) -> None:
    """Calls `work()` on at most `n_threads` threads at once, the caller's among them; the first error is raised.

    The calls share out the work among themselves, and what is left when one begins may be nothing: a helper that has
    not begun when the caller is done is not waited for.
    """
    if n_threads < 2:
        work()
        return
    helpers = [_helpers.submit(work) for _ in range(n_threads - 1)]
    try:
        work()
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()


def run(work: Callable[[int, int], None], pieces: Iterable[tuple[int, int]], n_threads: int) -> None:
    """Calls `work(start, end)` for every piece, on at most `n_threads` threads; the first error is raised."""
    left = list(pieces)[::-1]

    def take() -> None:
        while left:
            try:
                piece = left.pop()
            except IndexError:  # another thread took the last
                return
            try:
                work(*piece)
            except BaseException:
                left.clear()
                raise

    together(take, min(n_threads, len(left)))
