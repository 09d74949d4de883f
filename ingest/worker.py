"""One process of `Workers`, and the connection to it.

The connection is a pair of sockets. It needs no lock or semaphore, so a killed process leaves nothing behind and blocks
no other. The process loads our modules alone: one of multiprocessing's would run the caller's script again, which fails
if that script has no `if __name__ == "__main__"`. A worker blocks SIGINT, SIGTERM and SIGHUP from its first instruction
on: if the whole process group gets a signal, the parent decides. A worker ends when the parent closes the connection or
dies.
"""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from typing import Any

from threadpoolctl import threadpool_limits

from reranker.base.errors import SinkrankError

# The modules are looked for where the parent looks for them.
_PROGRAM = """\
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from ingest.worker import serve
serve(int(sys.argv[1]))
"""


class Worker:
    """A process, and the thread that starts it and speaks with it."""

    def __init__(self, shared: Any) -> None:
        """
        Args:
            shared: the first argument of all functions; sent once.
        """
        self._thread = ThreadPoolExecutor(1)
        self._started = self._thread.submit(_start, shared)
        self._function: Callable[[Any, Any], Any] | None = None

    def call(self, function: Callable[[Any, Any], Any], piece: Any) -> Future[Any]:
        """Lets the process call a function with the shared object and a piece, after what it was given before. The
        result raises what the function raises, and SinkrankError if the process has ended."""
        return self._thread.submit(self._call, function, piece)

    def end(self) -> None:
        """Kills the process, which keeps nothing."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if not self._started.cancelled() and self._started.exception() is None:
            process, connection = self._started.result()
            process.kill()
            process.wait()
            self._thread.shutdown()
            connection.close()

    def _call(self, function: Callable[[Any, Any], Any], piece: Any) -> Any:
        process, connection = self._started.result()
        try:
            # A function may contain a large table, so it is not sent with each piece.
            connection.send_bytes(pickle.dumps((function if function is not self._function else None, piece)))
            self._function = function
            answer = connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise _ended(process) from error
        result, raised = pickle.loads(answer)  # noqa: S301 - from our own process
        if raised is not None:
            raise raised
        return result


def _start(shared: Any) -> tuple[subprocess.Popen[bytes], Connection]:
    """Starts a process, which inherits the signals that the thread blocks."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    ours, theirs = Pipe()
    with theirs:  # else the connection would outlive the process
        # -P: no module is taken from the folder that the command is given in.
        command = [get_executable(), "-P", "-c", _PROGRAM, str(theirs.fileno()), json.dumps(sys.path)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    with suppress(OSError):  # the first call finds out
        ours.send_bytes(pickle.dumps(shared))
    return process, ours


def _ended(process: subprocess.Popen[bytes]) -> SinkrankError:
    code = process.wait()
    if code > 0:
        return SinkrankError(f"a worker process ended with exit code {code}, and wrote why to standard error")
    return SinkrankError(
        "a worker process was killed (by the system if memory is short); run the same command again, with fewer "
        "--workers: it writes what is missing"
    )


def serve(handle: int) -> None:
    """Runs in the process until the connection is closed.

    Args:
        handle: file descriptor of the connection.
    """
    threadpool_limits(1)  # each core has a process already
    function: Any = None
    with Connection(handle) as connection, suppress(EOFError, OSError):
        shared = pickle.loads(connection.recv_bytes())  # noqa: S301 - from the parent
        while True:
            message = connection.recv_bytes()
            try:
                given, piece = pickle.loads(message)  # noqa: S301 - from the parent
                function = function if given is None else given
                answer = pickle.dumps((function(shared, piece), None))
            except Exception as error:
                answer = _as_answer(error)
            connection.send_bytes(answer)


def _as_answer(error: Exception) -> bytes:
    """The pickled error with its traceback as a note; if it cannot be pickled, a RuntimeError with its text."""
    text = traceback.format_exc()
    error.add_note(f"in a worker process:\n{text}")
    try:
        answer = pickle.dumps((None, error))
        pickle.loads(answer)  # noqa: S301 - our own
    except Exception:
        return pickle.dumps((None, RuntimeError(text)))
    return answer
