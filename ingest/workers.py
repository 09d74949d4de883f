"""Runs functions over pieces of a stream on all cores, and yields the results in order."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from threadpoolctl import threadpool_limits

from reranker.base.errors import SinkrankError

_Shared = TypeVar("_Shared")
_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")

# A process takes about a second to start: what few pieces hold is sooner done than that.
_PIECES_WORTH_A_POOL = 8
# Pieces that wait for each process, so that none waits for a piece.
_PIECES_AHEAD = 3


class Workers(Generic[_Shared]):
    """Processes with a shared object, started once there is enough work."""

    def __init__(self, shared: _Shared, n_workers: int) -> None:
        """
        Args:
            shared: the object that every function needs; must be picklable. Each process gets it once, with its caches.
            n_workers: number of processes; 1 works in this one.
        """
        self._shared = shared
        self._n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._n_functions = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._folder is not None:
            self._folder.cleanup()

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
        try:
            yield from self._map_in_processes(function, chain(first, stream))
        except BrokenProcessPool as error:
            raise SinkrankError(
                "a worker process was killed (by the system where memory is short); give the same command again, with "
                "fewer --workers: it goes on where it was"
            ) from error

    def _map_in_processes(
        self, function: Callable[[_Shared, _Piece], _Result], pieces: Iterable[_Piece]
    ) -> Iterator[tuple[_Piece, _Result]]:
        path = self._hand_out(function)
        if self._pool is None:
            # Not forked: this process has threads, which a child would not have, and their locks, which it would have.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._n_workers, context, _begin, (self._shared,))
        waiting: deque[tuple[_Piece, Future[_Result]]] = deque()
        try:
            for piece in pieces:
                waiting.append((piece, self._pool.submit(_call, path, piece)))
                if len(waiting) > self._n_workers * _PIECES_AHEAD:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        finally:
            for _, future in waiting:
                future.cancel()

    def _hand_out(self, function: Callable[[_Shared, _Piece], _Result]) -> str:
        """Stores a function where the processes find it: to send a table of many words with each piece would take
        longer than the work."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sinkrank-")
        self._n_functions += 1
        path = Path(self._folder.name, str(self._n_functions))
        path.write_bytes(pickle.dumps(function))
        return str(path)


_shared: Any = None
_function: tuple[str, Callable[[Any, Any], Any]] | None = None


def _begin(shared: Any) -> None:
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    threadpool_limits(1)  # each core has a process already
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends a process whose parent was killed; it would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(path: str, piece: Any) -> Any:
    global _function
    if _function is None or _function[0] != path:
        _function = (path, pickle.loads(Path(path).read_bytes()))  # noqa: S301 - the parent's own file
    return _function[1](_shared, piece)
