"""Serves the application in several processes with gunicorn; they share the memory of everything opened before."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from reranker.base.errors import WrongParameter

if TYPE_CHECKING:
    import socket

    from flask import Flask

    from reranker.service.settings import Settings

# The folder in which prometheus_client adds up the metrics of all processes; read when it is imported.
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# gunicorn's maximum; 0 (no limit) would let a client fill the memory.
_MAX_REQUEST_LINE = 8_190


@contextmanager
def shared_numbers() -> Iterator[None]:
    """A folder in which the processes keep their metrics, removed at the end; or the folder that the environment names.

    Enter it before the metrics are imported.
    """
    if os.environ.get(MULTIPROCESS_VARIABLE):
        yield
        return
    from reranker.base.temporary import temporary_folder  # not for Windows, where there is one process

    owner = os.getpid()
    with temporary_folder("sinkrank-metrics-") as folder:
        os.environ[MULTIPROCESS_VARIABLE] = str(folder)
        try:
            yield
        finally:
            if os.getpid() == owner:
                del os.environ[MULTIPROCESS_VARIABLE]


def serve_with_processes(
    app: Flask, settings: Settings, listener: socket.socket, on_ready: Callable[[], None], on_stop: Callable[[], None]
) -> None:
    """Serves until SIGTERM or SIGINT, then stops as `server.serve_until_stopped`, in each process.

    Args:
        on_stop: called in this process after the signal, before draining.

    Raises:
        WrongParameter: gunicorn is not installed.
    """
    try:
        from gunicorn.app.base import BaseApplication
    except ImportError as error:
        raise WrongParameter(
            "more than one process needs gunicorn; install it with: pip install 'sinkrank[gunicorn]'"
        ) from error

    def start(_: Any) -> None:
        _drain_first(settings.drain_s, on_stop)
        on_ready()

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in _options(settings, listener).items():
                if name in self.cfg.settings:
                    self.cfg.set(name, value)
            # gunicorn has installed its signal handlers by then.
            self.cfg.set("when_ready", start)
            self.cfg.set("child_exit", lambda _, worker: _forget(worker.pid))

        def load(self) -> Flask:
            return app

    first = os.getpid()
    try:
        Application().run()
    except SystemExit as ended:  # gunicorn ends the process; the first process still prints its last message
        if ended.code or os.getpid() != first:
            raise


def _drain_first(drain_s: float, on_stop: Callable[[], None]) -> None:
    """Delays the handlers of SIGTERM and SIGINT that are installed now.

    SIGTERM is handled `drain_s` later, and the processes go on serving until then. SIGINT, and any second signal, is
    handled at once.
    """
    owner = os.getpid()
    stop_signals = (signal.SIGTERM, signal.SIGINT)
    handlers: dict[int, Any] = {int(number): signal.getsignal(number) for number in stop_signals}
    is_stopping = False

    def obey(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        handlers[number](number, frame)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping or os.getpid() != owner:  # a worker process has these handlers until it installs its own
            obey(number, frame)
            return
        is_stopping = True
        on_stop()
        if number == signal.SIGTERM and drain_s > 0:
            signal.setitimer(signal.ITIMER_REAL, drain_s)
        else:
            obey(number, frame)

    signal.signal(signal.SIGALRM, lambda _, frame: obey(signal.SIGTERM, frame))
    for number in stop_signals:
        signal.signal(number, note)


def _options(settings: Settings, listener: socket.socket) -> dict[str, Any]:
    """gunicorn's settings. It owns the listener from here on."""
    return {
        "bind": f"fd://{listener.detach()}",
        "workers": settings.processes,
        "worker_class": "gthread",
        "threads": settings.workers,
        "preload_app": True,
        "graceful_timeout": max(1, round(settings.grace_s)),
        "limit_request_line": _MAX_REQUEST_LINE,
        "loglevel": "warning",
        "proc_name": "sinkrank",
        "control_socket_disable": True,
    }


def _forget(pid: int) -> None:
    """Removes the metrics of a process that has ended from those about running processes."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid)  # type: ignore[no-untyped-call]
