"""Serves the application with waitress until a signal, then lets running requests finish."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from reranker.base.errors import BadInput

if TYPE_CHECKING:
    from flask import Flask

    from reranker.service.settings import Settings

_POLL_SECONDS = 1.0
# Idle keep-alive connections count too, and a load balancer holds many; waitress's default is 100.
_MAX_CONNECTIONS = 1000


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 picks a free one. It refuses connections until the server listens, so that
    no client waits for a service that is still compiling.

    Raises:
        BadInput: the address cannot be used; the message says why.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Connections in TIME_WAIT do not block the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        return listener
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise BadInput(
            f"cannot listen at {host} port {port} ({reason}); choose another with --host and --port, 0 for a free port"
        ) from error


def address_of(listener: socket.socket) -> str:
    """The address to type into a browser: `http://127.0.0.1:8080`."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104  only compared
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_until_stopped(
    app: Flask,
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serves until SIGTERM or SIGINT and for `drain_s` after it. Then it accepts no connections, and returns when all
    running requests have finished, or `grace_s` later. Call it in the main thread, which receives the signals.

    Args:
        on_stop: called after the signal, before draining.
    """
    from waitress.server import create_server
    from waitress.wasyncore import close_all, loop

    from sinkrank.serving.http_versions import refuse_other_versions
    from sinkrank.serving.kept_alive import keep_connections

    channels: dict[int, Any] = {}
    server = create_server(
        app,
        map=channels,
        sockets=[listener],
        threads=settings.workers,
        max_request_body_size=max(settings.max_body_bytes, settings.proxy_max_body_bytes),
        ident="sinkrank",
        connection_limit=_MAX_CONNECTIONS,
        # The application trusts no such header, and the engine gets what the client sent.
        clear_untrusted_proxy_headers=False,
    )
    keep_connections(server)
    refuse_other_versions(server)
    with _stop_signals(server.pull_trigger) as stopped:
        on_ready()
        while not stopped():
            loop(timeout=_POLL_SECONDS, use_poll=True, map=channels, count=1)
        on_stop()
        drained = time.monotonic() + settings.drain_s
        while time.monotonic() < drained:
            loop(timeout=0.1, use_poll=True, map=channels, count=1)
        server.del_channel(channels)
        server.socket.close()
        deadline = time.monotonic() + settings.grace_s
        while time.monotonic() < deadline and _is_busy(server):
            loop(timeout=0.1, use_poll=True, map=channels, count=1)
    server.task_dispatcher.shutdown(timeout=1)
    close_all(channels, ignore_all=True)  # clients that still wait see a closed connection


def _is_busy(server: Any) -> bool:
    """Whether a request is being answered, or an answer is on its way out."""
    return any(channel.requests or channel.total_outbufs_len for channel in list(server.active_channels.values()))


@contextmanager
def _stop_signals(wake: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Within it the first SIGTERM or SIGINT is only noted; a second one ends the process at once, as usual."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, before[number])
        wake()

    before = {int(number): signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
