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
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from typing import Any

from threadpoolctl import threadpool_limits

from reranker.base.errors import SinkrankError

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A worker first finishes its current piece.
_END_SECONDS = 5.0
# The kinds of messages: the first argument of all functions, the function of the next pieces (it may contain a large
# table, so it is not sent with each piece), and a piece.
SHARED, FUNCTION, PIECE = b"s", b"f", b"p"


# The modules are looked for where the parent looks for them.
_PROGRAM = """\
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from ingest.worker import serve
serve(int(sys.argv[1]))
"""


class Worker:
    """A process, as its parent sees it. All methods that send or receive raise SinkrankError if it has ended."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection) -> None:
        self._process = process
        self._connection = connection

    def send(self, kind: bytes, content: Any) -> None:
        """Sends a message, whose first byte is its kind; does not wait for a result."""
        message = kind + pickle.dumps(content)
        with self._ended_if_closed():
            self._connection.send_bytes(message)

    def receive(self) -> Any:
        """Waits for the result of the first piece that has none yet. Raises what the function raised."""
        with self._ended_if_closed():
            answer = self._connection.recv_bytes()
        result, error = pickle.loads(answer)  # noqa: S301 - from our own process
        if error is not None:
            raise error
        return result

    def tell_to_end(self) -> None:
        """Closes the connection, so that the process ends after its current piece."""
        self._connection.close()

    def end(self) -> None:
        """Waits for the end of the process, and kills it after 5 s."""
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def _ended_if_closed(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            self.end()
            if self._process.returncode > 0:
                raise SinkrankError(
                    f"a worker process ended with exit code {self._process.returncode}, and wrote why to standard error"
                ) from error
            raise SinkrankError(
                "a worker process was killed (by the system if memory is short); run the same command again, with "
                "fewer --workers: it writes what is missing"
            ) from error


def start_worker() -> Worker:
    """Starts a process. Call it in a thread made for this: the process inherits the signals that the thread blocks."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    ours, theirs = Pipe()
    with theirs:  # else the connection would outlive the process
        command = [get_executable(), "-c", _PROGRAM, str(theirs.fileno()), json.dumps(sys.path)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    return Worker(process, ours)


def serve(handle: int) -> None:
    """Runs in the process until the connection is closed. Threads read and write it, so neither side waits for the
    other to read.

    Args:
        handle: file descriptor of the connection.
    """
    connection = Connection(handle)
    threadpool_limits(1)  # each core has a process already
    closed = threading.Event()
    messages: SimpleQueue[bytes] = SimpleQueue()
    answers: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(connection, messages, closed), daemon=True).start()
    threading.Thread(target=_write, args=(connection, answers), daemon=True).start()
    shared: Any = None
    function: Any = None
    while True:
        message = messages.get()
        if closed.is_set():
            return
        try:
            kind, content = message[:1], pickle.loads(memoryview(message)[1:])  # noqa: S301 - from the parent
            if kind == SHARED:
                shared = content
            elif kind == FUNCTION:
                function = content
            else:
                answers.put(pickle.dumps((function(shared, content), None)))
        except Exception as error:
            answers.put(_as_answer(error))


def _read(connection: Connection, messages: SimpleQueue[bytes], closed: threading.Event) -> None:
    with suppress(EOFError, OSError):
        while True:
            messages.put(connection.recv_bytes())
    closed.set()
    messages.put(b"")  # wakes `serve`


def _write(connection: Connection, answers: SimpleQueue[bytes]) -> None:
    with suppress(OSError):
        while True:
            connection.send_bytes(answers.get())


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
