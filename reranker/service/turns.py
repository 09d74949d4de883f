"""Limits how many requests compute at once, and how many wait for one node of the engine.

A request that waits for the engine gives its turn to compute to another one. So a stuck engine does not stop what needs
none, and many waiting requests do not take the processor from those that compute.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from reranker.base.errors import Busy


class Turns:
    """Safe to share between threads.

    Args:
        n_computing: requests that compute at once; further ones wait for their turn.
        n_waiting: requests that wait for one node at once; further ones are refused.
    """

    def __init__(self, n_computing: int, n_waiting: int) -> None:
        self._free = threading.BoundedSemaphore(n_computing)
        self._n_waiting = n_waiting
        self._n_by_node: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    def begin(self) -> None:
        """Waits until this thread may compute; it then calls `end`."""
        self._free.acquire()
        self._of_thread.has_turn = True

    def end(self) -> None:
        """Gives this thread's turn back, if it has one."""
        if getattr(self._of_thread, "has_turn", False):
            self._of_thread.has_turn = False
            self._free.release()

    @contextmanager
    def waiting(self, node: str) -> Iterator[None]:
        """Within it the thread waits for a node, and others may compute.

        Raises:
            Busy: too many wait for it.
        """
        with self._lock:
            if self._n_by_node[node] >= self._n_waiting:
                raise Busy(
                    f"{self._n_waiting} requests wait for the engine at {node}; try again later, or raise the setting "
                    "max_engine_calls"
                )
            self._n_by_node[node] += 1
        had_turn = getattr(self._of_thread, "has_turn", False)
        self.end()
        try:
            yield
        finally:
            with self._lock:
                self._n_by_node[node] -= 1
            if had_turn:
                self.begin()
