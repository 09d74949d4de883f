"""A flag that a process and those that it forks see alike."""

from __future__ import annotations

import mmap


class SharedFlag:
    """Not set at first; who sets it sets it for the process that made it and all its forks.

    It is a byte of shared memory. (`multiprocessing.Event` holds a lock, which a process killed at the wrong moment
    never gives back.)
    """

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)

    def set(self) -> None:
        self._byte[0] = 1

    def is_set(self) -> bool:
        return self._byte[0] == 1
