"""Runs functions over pieces of a stream on a Ray cluster, as `ingest.workers` does on the cores of one machine.

Each worker is an actor, so it keeps its caches of words. Ray restarts a lost worker, which repeats its pieces. Reading
and writing stay on the machine of the command. What is shared is opened by its path on every machine.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, redirect_stdout
from itertools import cycle
from typing import Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

from ingest.workers import in_order
from reranker.base.errors import BadInput, SinkrankError, one_line
from reranker.base.extras import extra

_Shared = TypeVar("_Shared")
_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")

# Starts Ray on this machine.
LOCAL = "local"
# How often a lost worker (its machine is gone, for instance) is restarted and its piece repeated.
_MAX_RESTARTS = 3
# A host accepts within milliseconds; a firewall that drops packets never refuses.
_CONNECT_TIMEOUT_S = 5.0
# Of a cluster's head (`ray start --head`), and of its server for clients.
_HEAD_PORT, _CLIENT_PORT = 6379, 10001


class RayWorkers(Generic[_Shared]):
    """Workers of a Ray cluster with a shared object."""

    def __init__(self, shared: _Shared, n_workers: int | None, address: str) -> None:
        """
        Args:
            shared: the object that every function needs; must be picklable.
            n_workers: number of workers, at most; None: one for each processor of the cluster.
            address: address of the cluster: `auto`, `HOST:6379`, `ray://HOST:10001`; `local` starts one on this
                machine.

        Raises:
            MissingPackage: Ray is not installed.
        """
        with extra("ray", "--ray"):
            import ray
        self._ray = ray
        self._shared = shared
        self._n_workers = n_workers
        self._address = address
        self._actors: list[Any] = []
        self._n_functions = 0
        self._talk = ExitStack()

    def __enter__(self) -> Self:
        """
        Raises:
            BadInput: no cluster at the address, or Ray does not start here.
        """
        _check_address(self._address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray reports lost workers on standard output, which is for results.
        self._talk.enter_context(redirect_stdout(sys.stderr))
        options: dict[str, Any] = {"include_dashboard": False, "num_cpus": self._n_workers}
        ended = signal.getsignal(signal.SIGTERM)
        try:
            self._ray.init(
                address=self._address,
                log_to_driver=False,
                logging_level="ERROR",
                **(options if self._address == LOCAL else {}),
            )
        except Exception as error:  # Ray's errors have no common class
            self._talk.close()
            reason = one_line(error)
            if self._address == LOCAL:
                message = f"Ray does not start here ({reason}) within half a minute; try again when the load is lower"
            else:
                message = (
                    f"no Ray cluster answers at {self._address} ({reason}); check --ray, and set RAY_AUTH_MODE=token "
                    f"if its head asks for a token"
                )
            raise BadInput(message) from error
        if ended is not None and threading.current_thread() is threading.main_thread():
            # Ray has handlers of its own: one writes a trace and aborts.
            signal.signal(signal.SIGTERM, ended)
        # Ray lets workers wait for a free processor, if need be for ever.
        n_free = max(1, int(self._ray.available_resources().get("CPU", 1)))
        n_workers = min(self._n_workers or n_free, n_free)
        actor = self._ray.remote(num_cpus=1, max_restarts=_MAX_RESTARTS, max_task_retries=_MAX_RESTARTS)(_Worker)
        # By value: a restarted worker could not fetch an object that is passed by reference.
        self._actors = [actor.remote(self._shared) for _ in range(n_workers)]
        return self

    def __exit__(self, *_: object) -> None:
        self._actors = []
        self._ray.shutdown()
        self._talk.close()

    def map(
        self, function: Callable[[_Shared, _Piece], _Result], pieces: Iterable[_Piece]
    ) -> Iterator[tuple[_Piece, _Result]]:
        """Yields each piece with its result, in order. Reads only a few pieces ahead.

        Args:
            function: takes the shared object and a piece; must be picklable.

        Raises:
            SinkrankError: workers are lost repeatedly, or cannot open what is shared.
        """
        self._n_functions += 1
        # In a list, so that each worker fetches it once and not once for each piece.
        handed_out = [self._ray.put(function)]
        calls = (
            (piece, actor.call.remote(self._n_functions, handed_out, piece))
            for piece, actor in zip(pieces, cycle(self._actors))
        )
        yield from in_order(calls, len(self._actors), self._result)

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayActorError as error:
            reason = str(error).strip().rpartition("\n")[2].strip()
            raise SinkrankError(
                f"Ray lost its workers ({reason}); see that each machine is up, has memory to spare, this version of "
                "Sinkrank, and the embeddings at the same path; then run the same command again: it writes what is "
                "missing"
            ) from error


def _check_address(address: str) -> None:
    """Checks that something answers at the address of a cluster. Ray itself tries for over a minute, without an error.

    Raises:
        BadInput: nothing answers, or the address has another form.
    """
    where = urlsplit(address if "://" in address else f"//{address}")
    if address in ("auto", LOCAL) or where.scheme not in ("", "ray"):
        return  # Ray finds these by itself
    try:
        if not where.hostname:
            raise ValueError("it names no host")
        port = where.port or (_CLIENT_PORT if where.scheme else _HEAD_PORT)
        socket.create_connection((where.hostname, port), timeout=_CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError) as error:
        raise BadInput(
            f"no Ray cluster answers at {address!r} ({error}); start one there with `ray start --head`, or give local, "
            f"auto, HOST:{_HEAD_PORT} or ray://HOST:{_CLIENT_PORT}"
        ) from error


class _Worker:
    """The actor that Ray starts."""

    def __init__(self, shared: Any) -> None:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # each core has a worker already
        self._shared = shared
        self._function: tuple[int, Callable[[Any, Any], Any]] | None = None

    def call(self, number: int, handed_out: list[Any], piece: Any) -> Any:
        if self._function is None or self._function[0] != number:
            import ray

            self._function = (number, ray.get(handed_out[0]))
        return self._function[1](self._shared, piece)
