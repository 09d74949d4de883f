"""An upstream that answers what a test tells it to and keeps each request byte for byte."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.listening import listening


@dataclass
class Received:
    """A request as it came over the wire, its chunks put together."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    is_chunked: bool

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(found) if found else None


@dataclass
class FakeEngine:
    """`answer` gives the whole answer, status line and all; one request a connection.

    Questions for a mapping are answered by none, and not kept.
    """

    url: str = ""
    answer: Callable[[Received], bytes] = lambda received: ok(b"{}")
    received: list[Received] = field(default_factory=list)


def ok(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


@contextmanager
def fake_engine() -> Iterator[FakeEngine]:
    engine = FakeEngine()

    def answer(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(300)
            received = _read(connection)
            if received is not None and "/_mapping/field/" in received.line:
                connection.sendall(ok(b"{}"))
            elif received is not None:
                engine.received.append(received)
                connection.sendall(engine.answer(received))

    with listening(answer) as engine.url:
        yield engine


def _read(connection: socket.socket) -> Received | None:
    with connection.makefile("rb") as stream:
        line = stream.readline()
        if not line:
            return None
        headers = []
        while (row := stream.readline().rstrip(b"\r\n")) != b"":
            name, _, value = row.decode("latin-1").partition(":")
            headers.append((name, value.strip()))
        received = Received(line.decode("latin-1").rstrip("\r\n"), headers, b"", False)
        if received.header("Transfer-Encoding") == "chunked":
            received.is_chunked = True
            while n_bytes := int(stream.readline(), 16):
                received.body += stream.read(n_bytes)
                stream.readline()
            stream.readline()
        else:
            received.body = stream.read(int(received.header("Content-Length") or 0))
        return received
