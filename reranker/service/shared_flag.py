"""A flag that a process shares with the processes that it forks."""

from __future__ import annotations

import mmap


class SharedFlag:
    """A flag that is not set at first. Setting it in one process sets it in all.

    It is a byte of shared memory. (`multiprocessing.Event` has a lock, which stays locked if a process is killed at the
    wrong moment.)
    """

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)

    def set(self) -> None:
        self._byte[0] = 1

    def is_set(self) -> bool:
        return self._byte[0] == 1
