"""Serves the application in several processes, which share one listening socket and the memory of everything opened
before; one that dies is replaced."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from reranker.base.errors import WrongParameter
from sinkrank.serving.server import serve_until_stopped
from sinkrank.serving.shared_numbers import forget_numbers

if TYPE_CHECKING:
    from reranker.service.settings import Settings

_BACKLOG = 1024
# A process that dies at its start is not replaced more often than this.
_RESTART_S = 1.0
# What a process may take to end beyond `drain_s` and `grace_s`.
_ENDING_S = 10.0
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger(__name__)


def serve_with_processes(
    app: Any,
    settings: Settings,
    listener: socket.socket,
    on_start: Callable[[], None] = lambda: None,
    on_ready: Callable[[], None] = lambda: None,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or SIGINT, then stops as `serve_until_stopped` in each process. A second signal kills them.

    Args:
        on_start, on_stop: called in each process that serves: at its start, and when it is told to stop, before
            draining.
        on_ready: called in this process once the others take connections.

    Raises:
        WrongParameter: the system cannot fork.
        SystemExit: in a process that has served.
    """
    if not hasattr(os, "fork"):
        raise WrongParameter("more than one process needs Linux or macOS; set processes to 1")
    listener.listen(_BACKLOG)
    # Nothing is written to it. Its end closes when this process stops the others, or dies.
    end_to_read, end_to_close = os.pipe()
    processes = _Processes(settings.processes)

    def serve() -> None:
        os.close(end_to_close)
        source = _when_closed(end_to_read)
        serve_until_stopped(app, settings, listener, on_start, on_stop=on_stop, stop_source=source)

    with _noted_signals() as (received, wait):
        processes.start_missing(serve)
        on_ready()
        while not received:
            wait(_RESTART_S)
            processes.reap()
            if not received:
                processes.start_missing(serve)
        os.close(end_to_close)
        os.close(end_to_read)
        listener.close()
        kill_at = time.monotonic() + settings.drain_s + settings.grace_s + _ENDING_S
        while processes.pids:
            if len(received) > 1 or time.monotonic() > kill_at:
                processes.kill()
            wait(_RESTART_S)
            processes.reap()


class _Processes:
    """The processes that serve, as their parent sees them."""

    def __init__(self, n_processes: int) -> None:
        self._n_processes = n_processes
        self._next_start_s = 0.0
        self._were_all_there = False
        self.pids: set[int] = set()

    def start_missing(self, serve: Callable[[], None]) -> None:
        """Starts those that are not there, which serve and raise SystemExit. Where the system lets none be started, the
        others go on, and it is tried again later.

        Raises:
            OSError: it lets none be started, and they have not all been there yet.
        """
        if len(self.pids) == self._n_processes or time.monotonic() < self._next_start_s:
            return
        self._next_start_s = time.monotonic() + _RESTART_S
        while len(self.pids) < self._n_processes:
            try:
                pid = os.fork()
            except OSError as error:
                if not self._were_all_there:
                    raise
                _log.warning("no server process can be started (%s); trying again", error.strerror)
                return
            if not pid:
                _leave_signals_to_parent()
                serve()
                raise SystemExit(0)
            self.pids.add(pid)
        self._were_all_there = True

    def reap(self) -> None:
        """Forgets those that have ended."""
        for pid in list(self.pids):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            self.pids.remove(pid)
            forget_numbers(pid)
            if status:
                _log.warning("server process %d ended (%s)", pid, _reason(status))

    def kill(self) -> None:
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def _noted_signals() -> Iterator[tuple[list[int], Callable[[float], None]]]:
    """The stop signals received so far, and a function that waits so many seconds, or until a signal or the end of a
    child."""
    owner = os.getpid()
    received: list[int] = []
    to_read, to_write = os.pipe()
    for end in (to_read, to_write):
        os.set_blocking(end, False)

    def note(number: int, frame: FrameType | None) -> None:
        if number in _STOP_SIGNALS:
            received.append(number)

    def wait(seconds: float) -> None:
        if select.select([to_read], [], [], seconds)[0]:
            os.read(to_read, 4096)

    before = {int(number): signal.signal(number, note) for number in (*_STOP_SIGNALS, signal.SIGCHLD)}
    wakeup_before = signal.set_wakeup_fd(to_write, warn_on_full_buffer=False)
    try:
        yield received, wait
    finally:
        if os.getpid() == owner:
            signal.set_wakeup_fd(wakeup_before)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(to_read)
            os.close(to_write)


def _leave_signals_to_parent() -> None:
    """Signals that go to the whole group reach the parent too, which tells its children by the closed pipe."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _when_closed(end_to_read: int) -> Any:
    """Stops a server when the other end of a pipe is closed; see `StopSource`."""

    @contextmanager
    def source(wake: Callable[[], None]) -> Iterator[Callable[[], bool]]:
        is_closed = threading.Event()

        def watch() -> None:
            os.read(end_to_read, 1)
            is_closed.set()
            wake()

        threading.Thread(target=watch, name="parent", daemon=True).start()
        yield is_closed.is_set

    return source


def _reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"
