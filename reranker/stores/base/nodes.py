"""Decides which node of an engine is asked next: the store and the proxy follow the same rules.

The first node that takes connections is asked. A node that takes none rests for `REST_S`: it is asked last. After that
one request tries it again, while the others still pass it over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

# A host that answers at all takes a connection within this.
CONNECT_TIMEOUT_S = 2.0
REST_S = 10.0

_log = logging.getLogger(__name__)


class NodeOrder:
    """The order in which the nodes of one engine are asked; threads may share it.

    Args:
        shown: the address of each node, for the log.
    """

    def __init__(self, shown: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._shown = shown
        self._clock = clock
        # When a node that took no connection is tried again; 0 for a node that is up.
        self._rests_until = [0.0] * len(shown)
        self._lock = threading.Lock()

    def places(self) -> list[int]:
        """All nodes by place in the address, the resting ones last."""
        places = range(len(self._shown))
        if not any(self._rests_until):
            return list(places)
        now = self._clock()
        with self._lock:
            order = sorted(places, key=lambda place: now < self._rests_until[place])
            if self._rests_until[order[0]]:
                self._rests_until[order[0]] = now + REST_S  # this request alone tries it
        return order

    def took_a_connection(self, place: int) -> None:
        """Notes that a node is up."""
        if self._rests_until[place]:
            self._set(place, 0.0)

    def took_none(self, place: int) -> None:
        """Notes that no connection to a node came about: it rests."""
        self._set(place, self._clock() + REST_S)

    def _set(self, place: int, rests_until: float) -> None:
        with self._lock:
            was_up = not self._rests_until[place]
            self._rests_until[place] = rests_until
        if was_up == bool(rests_until):
            state = "takes no connection" if rests_until else "is back"
            # Of a single node each failed request says the same.
            level = logging.WARNING if len(self._shown) > 1 else logging.INFO
            _log.log(level, "the engine at %s %s", self._shown[place], state)
