"""Decides which node of an engine gets the next request.

It is the first node that takes connections. A node that takes none rests for `REST_S`, in which it comes last. After
that one request tries it again, while the others still avoid it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

# A host that is up takes a connection within this time.
CONNECT_TIMEOUT_S = 2.0
REST_S = 10.0

_log = logging.getLogger(__name__)


class NodeOrder:
    """The order in which requests try the nodes of one engine. Threads can share it.

    Args:
        addresses: the address of each node, for the log.
    """

    def __init__(self, addresses: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = addresses
        self._clock = clock
        # The time to try a node again that took no connection; 0 for a node that is up.
        self._rests_until = [0.0] * len(addresses)

    def places(self) -> list[int]:
        """Returns all nodes by position in the address, the resting ones last."""
        places = range(len(self._addresses))
        if not any(self._rests_until):
            return list(places)
        now = self._clock()
        order = sorted(places, key=lambda place: now < self._rests_until[place])
        if self._rests_until[order[0]]:
            self._rests_until[order[0]] = now + REST_S  # this request tries it, and those of the same moment
        return order

    def took_a_connection(self, place: int) -> None:
        """Records that a node is up."""
        if self._rests_until[place]:
            self._set(place, 0.0)

    def took_none(self, place: int) -> None:
        """Records that a node took no connection; it rests."""
        self._set(place, self._clock() + REST_S)

    def _set(self, place: int, rests_until: float) -> None:
        was_up = not self._rests_until[place]
        self._rests_until[place] = rests_until
        if was_up == bool(rests_until):
            state = "takes no connection" if rests_until else "is back"
            # With a single node, each failed request says so anyway.
            level = logging.WARNING if len(self._addresses) > 1 else logging.INFO
            _log.log(level, "the engine at %s %s", self._addresses[place], state)
