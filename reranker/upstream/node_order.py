"""Decides which node of an engine gets the next request.

It is the first node that takes connections. A node that takes none rests for `REST_S`, in which it comes last. After
that one request tries it again, while the others still avoid it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

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

    def attempts(self, may_repeat: bool) -> Attempts:
        """Returns the nodes for one request.

        Args:
            may_repeat: whether the request changes nothing if it arrives twice.
        """
        return Attempts(self.places(), may_repeat)

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


class Attempts:
    """The nodes that one request tries, in order, and one more attempt if it may be repeated."""

    def __init__(self, places: Sequence[int], may_repeat: bool) -> None:
        self._places = deque(places)
        self._may_repeat = may_repeat

    def __iter__(self) -> Iterator[int]:
        while self._places:
            self._last = self._places.popleft()
            yield self._last

    def repeat(self) -> bool:
        """Sends the request once more: to the next node, and to the last one only if no other takes it, since that may
        just have closed a kept connection. Returns whether the request may be sent again."""
        may_repeat, self._may_repeat = self._may_repeat, False
        if may_repeat:
            self._places.append(self._last)
        return may_repeat

    def repeat_elsewhere(self) -> bool:
        """The same, if there is another node to send it to first."""
        return bool(self._places) and self.repeat()
