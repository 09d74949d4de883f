"""Runs functions over pieces of a stream on all cores, and yields the results in order."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import chain, cycle, islice
from typing import Generic, Self, TypeVar

from ingest.worker import Worker

_Shared = TypeVar("_Shared")
_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")
_Call = TypeVar("_Call")

# Starting a process takes about a second; fewer pieces are done sooner without.
_PIECES_WORTH_A_POOL = 8
# Calls queued for each worker.
_CALLS_AHEAD = 3


class Workers(Generic[_Shared]):
    """Processes with a shared object, started once there is enough work."""

    def __init__(self, shared: _Shared, n_workers: int) -> None:
        """
        Args:
            shared: the object that every function needs; must be picklable. Each process gets it once, with its caches.
            n_workers: number of processes; 1 runs the functions in this process, and so does any number on Windows,
                where no process inherits blocked signals and an open socket.
        """
        self._shared = shared
        self._n_workers = n_workers if hasattr(signal, "pthread_sigmask") else 1
        self._started: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def map(
        self, function: Callable[[_Shared, _Piece], _Result], pieces: Iterable[_Piece]
    ) -> Iterator[tuple[_Piece, _Result]]:
        """Yields each piece with its result, in order. Reads only a few pieces ahead.

        Args:
            function: takes the shared object and a piece; must be picklable.

        Raises:
            SinkrankError: a process was killed.
        """
        stream = iter(pieces)
        first = list(islice(stream, _PIECES_WORTH_A_POOL if self._n_workers > 1 else 0))
        if len(first) < _PIECES_WORTH_A_POOL:
            for piece in chain(first, stream):
                yield piece, function(self._shared, piece)
            return
        yield from self._map_in_processes(function, chain(first, stream))

    def _map_in_processes(
        self, function: Callable[[_Shared, _Piece], _Result], pieces: Iterable[_Piece]
    ) -> Iterator[tuple[_Piece, _Result]]:
        if not self._started:
            self._started = [Worker(self._shared) for _ in range(self._n_workers)]
        calls = ((piece, worker.call(function, piece)) for piece, worker in zip(pieces, cycle(self._started)))
        try:
            yield from in_order(calls, self._n_workers, Future.result)
        except BaseException:
            self._stop()  # else pieces that nobody waits for would be worked on
            raise

    def _stop(self) -> None:
        for worker in self._started:
            worker.end()
        self._started.clear()


def in_order(
    calls: Iterable[tuple[_Piece, _Call]], n_workers: int, result: Callable[[_Call], _Result]
) -> Iterator[tuple[_Piece, _Result]]:
    """Yields the piece and the result of each call, in order. Makes only a few calls ahead, so that no worker is
    idle."""
    waiting: deque[tuple[_Piece, _Call]] = deque()
    for call in calls:
        waiting.append(call)
        if len(waiting) > n_workers * _CALLS_AHEAD:
            piece, done = waiting.popleft()
            yield piece, result(done)
    for piece, done in waiting:
        yield piece, result(done)
