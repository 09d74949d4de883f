"""Chooses the connections to close: clients that stand still, unread answers that take too much room, idle connections
when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sinkrank.serving.channels import Channel

# What a client must send or read of a request or answer within each `TIMEOUT_S`; less is done on purpose.
LEAST_BYTES = 65_536
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where a connection stood when it began to wait for its client, or at the end of the last period."""

    waits: tuple[str, int]
    since_s: float
    n_moved: int

    def rate(self, channel: Channel, now_s: float) -> float:
        """Bytes per second since then."""
        return (channel.n_moved - self.n_moved) / max(now_s - self.since_s, 1e-9)


class SlowClients:
    """Watches what clients send and read.

    Args:
        timeout_s: length of the period in which a client must move `LEAST_BYTES`, or end its request or answer.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._marks: dict[Channel, _Mark] = {}

    def overdue(self, channels: Iterable[Channel], now_s: float) -> list[Channel]:
        """Those to close; call it every second or so with all connections."""
        found, marks = [], {}
        for channel in channels:
            if not (state := channel.waits_for_client):
                continue
            waits = (state, channel.n_served)
            mark = self._marks.get(channel)
            if mark is not None and mark.waits == waits and now_s - mark.since_s >= self._timeout_s:
                if channel.n_moved - mark.n_moved < LEAST_BYTES:
                    found.append(channel)
                    continue
                mark = None
            marks[channel] = mark if mark is not None and mark.waits == waits else _Mark(waits, now_s, channel.n_moved)
        self._marks = marks
        return found

    def slowest(self, channels: Iterable[Channel], n_bytes: int, now_s: float) -> list[Channel]:
        """The slowest readers whose unread answers take `n_bytes` together. Those that began within the last second
        are not among them."""
        reading = [
            (mark.rate(channel, now_s), channel)
            for channel in channels
            if channel.total_outbufs_len and (mark := self._marks.get(channel)) and now_s - mark.since_s >= 1
        ]
        found = []
        for _, channel in sorted(reading, key=lambda one: one[0]):
            if n_bytes <= 0:
                break
            n_bytes -= channel.total_outbufs_len
            found.append(channel)
        return found

    def slow_senders(self, channels: Iterable[Channel], now_s: float) -> list[Channel]:
        """Those that send less than `LEAST_BYTES` a second of a body that takes room. Those that began within the last
        second are not among them."""
        return [
            channel
            for channel in channels
            if channel.n_body_bytes
            and (mark := self._marks.get(channel))
            and now_s - mark.since_s >= 1
            and mark.rate(channel, now_s) < LEAST_BYTES
        ]


def least_needed(channels: Iterable[Channel]) -> Channel | None:
    """The connection to close for a new one, if there is one: of the address with the most connections, an idle one
    rather than one whose request waits for a thread, that rather than one whose answer is read, and the one that did
    nothing for longest. None is being answered.
    """
    channels = list(channels)
    n_by_address = Counter(channel.addr[0] for channel in channels)

    def rank(one: Channel) -> tuple[int, bool, bool, float]:
        return n_by_address[one.addr[0]], not one.total_outbufs_len, not one.requests, -one.active_s

    return max((channel for channel in channels if not channel.is_served), key=rank, default=None)
