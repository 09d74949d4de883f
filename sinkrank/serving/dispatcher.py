"""Gives each request to a thread: the health routes, our own routes and passed requests have threads of their own.

Many threads wait for an engine or a slow client, and `reranker.service.slots` limits how many compute. A client address
takes a limited number of threads. Its further requests wait in a queue, and are refused when that takes too long.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from reranker.proxy.routes import RESERVED

# How long a request waits for a thread: bursts are served, and nobody waits behind clients that are stuck.
QUEUE_S = 5.0
NO_THREAD = "threads"
"""Reason to refuse a request; see `reranker.api.limits`."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Work:
    """A connection whose first request is to be answered. `client` is None where no limit applies."""

    channel: Any
    pool: _Pool
    client: str | None
    refused_at: float


class _Pool:
    """The threads of one kind of request, started as they are needed.

    Attributes:
        idle: what each thread without work waits for. One queue for all would wake a second thread for each request.
        queue: requests that wait for a thread, of pools without a limit and where the system gives no more threads.
    """

    def __init__(self, name: str, n_threads: int) -> None:
        self.name = name
        self.n_threads = n_threads
        self.n_running = 0
        self.n_started = 0
        self.idle: list[SimpleQueue[_Work | None]] = []
        self.queue: deque[_Work] = deque()


class Dispatcher:
    """waitress's task dispatcher, with pools. Its tasks are connections.

    Args:
        n_threads: for our own routes, and as many for passed requests.
        n_per_client: requests of one address in progress, over both.
    """

    def __init__(self, n_threads: int, n_per_client: int) -> None:
        self._health = {"/-/live": _Pool("live", 1), "/-/ready": _Pool("ready", 2), "/-/metrics": _Pool("metrics", 1)}
        self._refusals = _Pool("refusals", 1)
        self._own = _Pool("own", n_threads)
        self._passed = _Pool("passed", n_threads)
        self._pools = (*self._health.values(), self._refusals, self._own, self._passed)
        self._n_per_client = n_per_client
        self._n_by_client: Counter[str] = Counter()
        self._waiting: deque[_Work] = deque()
        self._is_ending = False
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)

    def add_task(self, channel: Any) -> None:
        """Answers the connection's first request in a thread of its pool, now or once one is free."""
        request = channel.requests[0]
        pool = self._refusals if request.error or request.refusal else self._pool_of(request.path)
        if channel.total_outbufs_len and pool in self._health.values():
            pool = self._own  # its thread may have to wait for the client to read the answers before
        is_limited = pool is self._own or pool is self._passed
        work = _Work(channel, pool, channel.addr[0] if is_limited else None, time.monotonic() + QUEUE_S)
        with self._lock:
            if self._may_start(work):
                self._start(work)
            else:
                self._waiting.append(work)

    def refuse_overdue(self) -> None:
        """Answers 429 to the requests that have waited for a thread for too long. Starts the threads that the system
        has refused, if it gives them now."""
        now = time.monotonic()
        with self._lock:
            for pool in self._pools:
                while pool.queue and self._starts_thread(pool, pool.queue[0]):
                    pool.queue.popleft()
            while self._waiting and self._waiting[0].refused_at <= now:
                work = self._waiting.popleft()
                for request in work.channel.requests[:1]:
                    request.refusal = NO_THREAD
                self._start(_Work(work.channel, self._refusals, None, now))

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        """Ends the threads; those still busy after `timeout` seconds end with the process. True if none is left."""
        with self._lock:
            if cancel_pending:
                for work in self._waiting:
                    work.channel.cancel()
                self._waiting.clear()
            self._is_ending = True
            for pool in self._pools:
                while pool.idle:
                    pool.idle.pop().put(None)
            return self._ended.wait_for(lambda: not any(pool.n_started for pool in self._pools), timeout)

    def _pool_of(self, path: str) -> _Pool:
        if path in self._health:
            return self._health[path]
        return self._own if path.lstrip("/").partition("/")[0] in RESERVED else self._passed

    def _may_start(self, work: _Work) -> bool:
        if work.client is None:
            return True
        return work.pool.n_running < work.pool.n_threads and self._n_by_client[work.client] < self._n_per_client

    def _start(self, work: _Work) -> None:
        pool = work.pool
        pool.n_running += 1
        if work.client is not None:
            self._n_by_client[work.client] += 1
        if pool.idle:
            pool.idle.pop().put(work)  # the last one: what it needs is still in the processor's caches
        elif not self._starts_thread(pool, work):
            pool.queue.append(work)

    def _starts_thread(self, pool: _Pool, work: _Work) -> bool:
        """Gives the work to a new thread; False if the pool has all of its threads, or the system gives no more."""
        if pool.n_started >= pool.n_threads:
            return False
        given: SimpleQueue[_Work | None] = SimpleQueue()
        given.put(work)
        name = f"{pool.name}-{pool.n_started + 1}"
        try:
            threading.Thread(target=self._run, args=[pool, given], name=name, daemon=True).start()
        except RuntimeError as error:
            _log.error("a request waits for a thread (%s); raise the limit of the process's threads", error)
            return False
        pool.n_started += 1
        return True

    def _run(self, pool: _Pool, given: SimpleQueue[_Work | None]) -> None:
        while (work := given.get()) is not None:
            try:
                work.channel.service()
            except BaseException:
                _log.exception("a request could not be answered")
            with self._lock:
                self._finish(work)
                if pool.queue:
                    given.put(pool.queue.popleft())
                elif self._is_ending:
                    given.put(None)
                else:
                    pool.idle.append(given)
            del work  # the connection, until the next one comes
        with self._lock:
            pool.n_started -= 1
            self._ended.notify_all()

    def _finish(self, work: _Work) -> None:
        work.pool.n_running -= 1
        if work.client is not None:
            self._n_by_client[work.client] -= 1
            if not self._n_by_client[work.client]:
                del self._n_by_client[work.client]
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, deque()
        for other in waiting:
            if self._may_start(other):
                self._start(other)
            else:
                self._waiting.append(other)
