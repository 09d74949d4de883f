"""Listens on loopback for tests that answer byte by byte, and ports on which nobody listens."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.waiting import PATIENCE_S

_BOUND: list[socket.socket] = []


def closed_port() -> int:
    """A port of 127.0.0.1 that refuses connections. It stays bound, so that no other process comes to listen there."""
    _BOUND.append(socket.socket())
    _BOUND[-1].bind(("127.0.0.1", 0))
    return int(_BOUND[-1].getsockname()[1])


def server_ports(n: int) -> list[int]:
    """`n` ports of 127.0.0.1 for servers that are started with SO_REUSEADDR, as engines and fronts are. They stay bound
    too: without it no other process gets them, before the server listens or while it is started again."""
    ports = [closed_port() for _ in range(n)]
    for bound in _BOUND[-n:]:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return ports


@contextmanager
def listening(accepted: Callable[[socket.socket], None]) -> Iterator[str]:
    """Gives each connection to a function, one after the other.

    Yields:
        the address, `opensearch://127.0.0.1:PORT`.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            accepted(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"opensearch://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(PATIENCE_S)
