"""Limits how many requests compute at once, and how many wait for one node of the engine.

A request that waits for the engine gives its slot to another request. So a stuck engine does not stop
requests that do not need it, and many waiting requests do not slow those that compute.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from reranker.base.errors import Busy


class Slots:
    """The slots of all requests. Thread-safe.

    Args:
        n_computing: maximum number of requests that compute at once; further ones wait.
        n_waiting: maximum number of requests that wait for one node at once; further ones are refused.
    """

    def __init__(self, n_computing: int, n_waiting: int) -> None:
        self._free = threading.BoundedSemaphore(n_computing)
        self._n_waiting = n_waiting
        self._n_by_node: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    def acquire(self) -> None:
        """Waits until this thread may compute. The thread must call `release` afterwards."""
        self._free.acquire()
        self._of_thread.has_slot = True

    def release(self) -> None:
        """Returns this thread's slot, if it has one."""
        if getattr(self._of_thread, "has_slot", False):
            self._of_thread.has_slot = False
            self._free.release()

    @contextmanager
    def waiting(self, node: str) -> Iterator[None]:
        """A context in which this thread waits for a node, while others may compute.

        Raises:
            Busy: too many requests wait for the node.
        """
        with self._lock:
            if self._n_by_node[node] >= self._n_waiting:
                raise Busy(
                    f"{self._n_waiting} requests wait for the engine at {node}; try again later, or raise the setting "
                    "max_engine_calls"
                )
            self._n_by_node[node] += 1
        had_slot = getattr(self._of_thread, "has_slot", False)
        self.release()
        try:
            yield
        finally:
            with self._lock:
                self._n_by_node[node] -= 1
            if had_slot:
                self.acquire()
