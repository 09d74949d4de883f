"""Keeps the memory of large tables for the next call: the system clears every page that it hands out, which takes as
long as it takes to fill it."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Kept when nobody uses it: as much as the tables of one call.
KEPT_BYTES = 48 * 2**20
# Sizes are filled up to a multiple of this, so that the next call's tables fit; smaller ones are not worth keeping.
STEP_BYTES = 2**20

_kept: deque[NDArray[np.uint8]] = deque()


class _Lease:
    """Holds a room while any array lies in it; the last one that goes gives it back."""

    def __init__(self, room: NDArray[np.uint8]) -> None:
        self._room = room
        self.__array_interface__: dict[str, Any] = room.__array_interface__

    def __del__(self) -> None:
        if (
            _kept is None or sys.is_finalizing()
        ):  # the interpreter takes the module's names away before its last objects
            return
        if sum(len(room) for room in list(_kept)) + len(self._room) <= KEPT_BYTES:
            _kept.append(self._room)


def room(n_bytes: int) -> NDArray[np.uint8]:
    """At least so many bytes, without values; kept for the next caller when no array that lies in it is left."""
    if n_bytes < STEP_BYTES:
        return np.empty(n_bytes, np.uint8)
    for _ in range(len(_kept)):
        try:
            found = _kept.popleft()
        except IndexError:  # another thread took the last
            break
        if n_bytes <= len(found) <= 2 * n_bytes:
            return np.asarray(_Lease(found))
        _kept.append(found)
    if _kept:  # of another size: what is kept follows what is asked for
        with suppress(IndexError):
            _kept.popleft()
    return np.asarray(_Lease(np.empty(-(-n_bytes // STEP_BYTES) * STEP_BYTES, np.uint8)))
