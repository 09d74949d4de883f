"""Engines that misbehave on purpose, and clients that do: all on real sockets."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import urllib3

from tests.support.waiting import PATIENCE_S

N_LARGE_BYTES = 24_000_000


class Engine:
    """Answers `GET /large` with 24 MB, everything else with `{}` or not at all.

    Args:
        tls: certificate and key to speak TLS with.

    Attributes:
        is_stuck: whether it answers nothing from now on.
        n_waiting: requests that came and have no answer.
        n_left: connections closed by the other side while their request waited.
    """

    def __init__(self, is_stuck: bool, tls: tuple[Path, Path] | None = None) -> None:
        self.is_stuck = is_stuck
        self._tls = None
        if tls is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(*tls)
        self.n_waiting = 0
        self.n_left = 0
        self._released = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = self._listener.getsockname()[1]
        self.url = f"opensearch{'' if tls is None else '+https'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def release(self) -> None:
        """Closes every connection, unanswered."""
        if self._released.is_set():
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._released.set()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        read = b""
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            while b"\r\n\r\n" not in read:
                block = connection.recv(65_536)
                if not block:
                    return
                read += block
            if self.is_stuck:
                self.n_waiting += 1
                self._wait(connection)
                return
            body = bytes(N_LARGE_BYTES) if read.startswith(b"GET /large") else b"{}"
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            try:
                connection.sendall(head.encode() + body)
            except OSError:
                return

    def _wait(self, connection: socket.socket) -> None:
        connection.settimeout(0.1)
        while not self._released.is_set():
            try:
                if not connection.recv(65_536):
                    self.n_left += 1
                    return
            except TimeoutError:
                pass


@contextmanager
def engine(is_stuck: bool = False, tls: tuple[Path, Path] | None = None) -> Iterator[Engine]:
    one = Engine(is_stuck, tls)
    try:
        yield one
    finally:
        one.release()


class Clients:
    """Requests that run in threads of their own; `answers` has the statuses of those that ended."""

    def __init__(self) -> None:
        self.answers: list[int | None] = []
        self._threads: list[threading.Thread] = []

    def ask(self, n: int, method: str, url: str, body: object = None) -> None:
        for _ in range(n):
            thread = threading.Thread(target=self._ask, args=[method, url, body], daemon=True)
            thread.start()
            self._threads.append(thread)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _ask(self, method: str, url: str, body: object) -> None:
        try:
            status = urllib3.request(method, url, json=body, timeout=PATIENCE_S, retries=False).status
        except urllib3.exceptions.HTTPError:
            self.answers.append(None)
        else:
            self.answers.append(status)


def get(url: str, host: str | None = None) -> urllib3.BaseHTTPResponse:
    """An answer on a connection of its own.

    Args:
        host: the address that the request comes from.
    """
    options: dict[str, Any] = {} if host is None else {"source_address": (host, 0)}
    with urllib3.PoolManager(retries=False, **options) as http:
        return http.request("GET", url, timeout=PATIENCE_S)


@contextmanager
def connected(url: str, n: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent something, with little room for what they do not read."""
    address = ("127.0.0.1", int(url.rpartition(":")[2]))
    with ExitStack() as stack:
        connections = []
        for _ in range(n):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            one.settimeout(PATIENCE_S)
            one.connect(address)
            one.sendall(sent)
            connections.append(one)
        yield connections


def is_closed_in_time(connection: socket.socket) -> bool:
    """Whether the server ends a connection; what came before is read."""
    try:
        while connection.recv(1 << 20):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True
