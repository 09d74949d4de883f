"""Searches that another process ranks beside the engine, while their callers get the engine's own answer.

A search goes to that process as one message over a socket pair, whose buffer is the queue: where it is full, the search
is counted as missed. So whatever becomes of the ranking, no caller waits for it.
"""

from __future__ import annotations

import errno
import logging
import pickle
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import zip_longest
from math import log2
from typing import NamedTuple

from reranker.base.errors import SinkrankError
from reranker.proxy.page import Page
from reranker.proxy.proxy import Proxy
from reranker.proxy.read import Skip
from reranker.proxy.window import AsItCame
from reranker.traffic.file import Shadowed
from reranker.upstream.calls import Fallback
from reranker.upstream.incoming import Incoming

_ENVIRONMENT = ("HTTP_ACCEPT", "HTTP_CONTENT_ENCODING")  # what is read of it besides
_BUFFER_BYTES = 1 << 20  # Linux gives less by default
# Why a search could not be handed over: macOS says ENOBUFS where Linux says EAGAIN.
_REASONS = {errno.EAGAIN: "busy", errno.ENOBUFS: "busy", errno.EMSGSIZE: "too_large"}

_log = logging.getLogger(__name__)


class ShadowSender:
    """Hands searches over; safe to share between threads and forked processes.

    Args:
        end: of the socket pair. It never blocks.

    Attributes:
        missed: searches that could not be handed over since the last one that was, by reason.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._end = end
        self.missed: Counter[str] = Counter()

    def send(self, incoming: Incoming) -> None:
        """Hands a search over whose body is read (`Incoming.read_search`); one that does not fit is missed."""
        missed, self.missed = self.missed, Counter()
        try:
            self._end.send(_written(incoming, missed))
        except OSError as error:
            reason = _REASONS.get(error.errno or 0, "not_running")
            if reason == "not_running" and not missed[reason]:
                _log.warning("the process that ranks in shadow has ended; start the service again to go on recording")
            missed[reason] += 1
            self.missed.update(missed)


class ShadowSearch(NamedTuple):
    """A search that was handed over, and the numbers of those missed before it, by reason."""

    incoming: Incoming
    missed: Mapping[str, int]


def _written(incoming: Incoming, missed: Mapping[str, int]) -> bytes:
    environ = {name: incoming.environ[name] for name in _ENVIRONMENT if name in incoming.environ}
    return pickle.dumps(ShadowSearch(replace(incoming, environ=environ, stream=BytesIO()), missed))


def read_message(message: bytes) -> ShadowSearch:
    """The search of a message, which came from a process of our own."""
    found: ShadowSearch = pickle.loads(message)  # noqa: S301
    return found


def rank_beside(proxy: Proxy, incoming: Incoming, keeps_queries: bool) -> list[Shadowed]:
    """What re-ranking would make of a request: one value for each of its searches, or one for all where none is ranked.

    Args:
        proxy: that re-ranks.
        keeps_queries: whether the text of a query may be kept.
    """
    started = time.perf_counter()
    try:
        answered = proxy.rank(incoming, is_multi=incoming.path.rstrip("/").endswith("_msearch"))
    except Skip as skip:
        return [Shadowed(skip.status, skip.reason)]
    except Fallback as failed:
        return [Shadowed("fallback", failed.reason)]
    except SinkrankError as error:
        return [Shadowed("fallback", error.code)]
    n_lines = len(answered.lines)
    seconds, engine_seconds = (time.perf_counter() - started) / n_lines, answered.engine_s / n_lines
    return [_judged(line, seconds, engine_seconds, keeps_queries) for line in answered.lines]


def _judged(line: Page | AsItCame, seconds: float, engine_seconds: float, keeps_queries: bool) -> Shadowed:
    status, reason, _ = line.outcome
    if isinstance(line, AsItCame) or status != "applied":
        return Shadowed(status, reason)
    window = line.ranked.window
    search = window.search
    if search.with_details:  # as the page asks, with all hits on one page
        return Shadowed("skipped", "details")
    if search.page.offset or search.page.after is not None:
        return Shadowed("skipped", "later_page")
    ours = [place.index for place, _, _ in line.hits]
    # A translation has other hits than the answer that the caller got.
    n_engines = 0 if window.translation is not None else min(search.page.size, len(window.answer.found))
    moved = [place != engines for place, engines in zip_longest(ours, range(n_engines))]
    query = search.query.text if keeps_queries else None
    return Shadowed(status, reason, any(moved[:1]), any(moved), page_change(moved), seconds, engine_seconds, query)


def page_change(moved: Sequence[bool]) -> float:
    """The share of a page's places that hold another hit; the place of rank r counts 1 / log2(r + 1).

    >>> round(page_change([True, True, False]), 3)
    0.765
    """
    weights = [1 / log2(rank + 1) for rank in range(1, len(moved) + 1)]
    return sum(weight for weight, is_moved in zip(weights, moved, strict=True) if is_moved) / (sum(weights) or 1.0)
