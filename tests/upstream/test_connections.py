"""What comes over the wire from a node, against RFC 9112 by hand."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import BadStatusLine, HTTPConnection, HTTPException, IncompleteRead, RemoteDisconnected

import pytest

from reranker.upstream.connections import ConnectionPool, EngineResponse, Headers
from tests.support.waiting import PATIENCE_S


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def pool_to(listener: socket.socket) -> ConnectionPool:
    return ConnectionPool("127.0.0.1", listener.getsockname()[1], 2, None, 2.0)


def answered(listener: socket.socket, said: bytes, method: str = "GET") -> tuple[EngineResponse, bytes]:
    """The answer of a node that says this and closes the connection, and its body."""

    def answer() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):  # who has read enough closes it
            connection.recv(65_536)
            connection.sendall(said)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with closing(pool_to(listener).connection(PATIENCE_S).ask(method, "/", [], None, None, PATIENCE_S)) as found:
            return found, found.read(1_000)
    finally:
        thread.join()


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", b"abc"),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: 1\r\n\r\n",
         b"abc0123456789"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", b"a"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
        (b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
        (b"HTTP/1.1 200\nContent-Length: 1\n\nx", b"x"),
    ],
)  # fmt: skip
def test_a_body_ends_where_its_head_says(listener: socket.socket, said: bytes, body: bytes) -> None:
    assert answered(listener, said)[1] == body


def test_a_length_that_does_not_count_is_not_passed_on(listener: socket.socket) -> None:
    """RFC 9112, 6.3: who passes on an answer in chunks leaves it out."""
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    assert answered(listener, said)[0].headers == [("Transfer-Encoding", "chunked")]


def test_an_engine_may_warn_of_much(listener: socket.socket) -> None:
    answer, _ = answered(listener, b"HTTP/1.1 200 OK\r\n" + b"Warning: 299 a\r\n" * 1_000 + b"\r\n")
    assert answer.headers == [("Warning", "299 a")] * 1_000


def test_headers_come_as_they_were_written(listener: socket.socket) -> None:
    said = b"HTTP/1.1 418 I'm odd\r\nwarning: one\r\nX-Two:  a:b \t\r\nWarning: caf\xe9\r\n  goes on\r\n\r\n"
    answer, _ = answered(listener, said)
    assert (answer.status, answer.reason) == (418, "I'm odd")
    assert answer.headers == [("warning", "one"), ("X-Two", "a:b"), ("Warning", "café goes on")]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"", RemoteDisconnected),
        (b"HTTP/1.1 20", BadStatusLine),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", IncompleteRead),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", IncompleteRead),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", IncompleteRead),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", IncompleteRead),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", IncompleteRead),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nab\r\n", HTTPException),
        (b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nab", HTTPException),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nab", HTTPException),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", HTTPException),
        (b"SSH-2.0-OpenSSH\r\n", BadStatusLine),
        (b"HTTP/1.1 abc OK\r\n\r\n", BadStatusLine),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", HTTPException),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", HTTPException),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", HTTPException),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 10_001 + b"\r\n", HTTPException),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", HTTPException),
    ],
)
def test_what_is_no_whole_answer_is_an_error(listener: socket.socket, said: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        answered(listener, said)


def sent(
    listener: socket.socket,
    method: str,
    headers: Headers,
    body: bytes | Iterator[bytes] | None,
    n_bytes: int | None,
    end: bytes,
) -> bytes:
    """What a node receives of a request for `/a%2Fb?c=%`, to this end and what comes within a moment of it."""
    received = b""

    def answer() -> None:
        nonlocal received
        connection, _ = listener.accept()
        with connection:
            while not received.endswith(end) and (block := connection.recv(65_536)):
                received += block
            connection.settimeout(0.05)
            with suppress(TimeoutError):
                received += connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    pool_to(listener).connection(PATIENCE_S).ask(method, "/a%2Fb?c=%", headers, body, n_bytes, PATIENCE_S).close()
    thread.join()
    return received


@pytest.mark.parametrize(
    ("method", "body", "n_bytes", "end"),
    [
        ("GET", None, None, b"\r\n\r\n"),
        ("POST", None, None, b"\r\nContent-Length: 0\r\n\r\n"),
        ("POST", b"ab", 2, b"\r\nContent-Length: 2\r\n\r\nab"),
        ("POST", [b"a", b"", b"bc"], 3, b"\r\nContent-Length: 3\r\n\r\nabc"),
        ("POST", [b"a", b"", b"bc"], None,
         b"\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
    ],
)  # fmt: skip
def test_a_request_is_written_with_nothing_but_what_was_given(
    listener: socket.socket, method: str, body: bytes | list[bytes] | None, n_bytes: int | None, end: bytes
) -> None:
    blocks = iter(body) if isinstance(body, list) else body
    found = sent(listener, method, [("Host", "localhost:9200"), ("X-Name", "caf\xe9")], blocks, n_bytes, end)
    assert found == f"{method} /a%2Fb?c=% HTTP/1.1\r\nHost: localhost:9200\r\nX-Name: caf\xe9".encode("latin-1") + end


@pytest.mark.parametrize(
    ("method", "target", "value"),
    [("GET", "/a b", ""), ("GET", "/a\r\nX: 1", ""), ("GET /a HTTP/1.1\r\n", "/", ""), ("GET", "/", "a\nX: 1")],
)
def test_no_other_request_is_smuggled_in(listener: socket.socket, method: str, target: str, value: str) -> None:
    with closing(pool_to(listener).connection(PATIENCE_S)) as connection, pytest.raises((ValueError, HTTPException)):
        connection.ask(method, target, [("A", value)], None, None, 1.0)


def test_an_answer_that_nobody_reads_gives_its_connection_up(listener: socket.socket) -> None:
    said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    connection = pool_to(listener).connection(PATIENCE_S)
    with listener.accept()[0] as node:
        node.sendall(said)
        answer = connection.ask("GET", "/", [], None, None, PATIENCE_S)
        assert answer.read_block(100) == b"abc"
        del answer
        while (received := node.recv(100)) and not received.endswith(b"\r\n\r\n"):
            pass
        assert node.recv(100) == b""


@pytest.mark.parametrize(("n_bytes", "n_writes"), [(0, 1), (1, 1), (65_536, 1), (65_537, 2)])
def test_a_small_body_goes_in_one_write_with_its_head(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, n_bytes: int, n_writes: int
) -> None:
    written: list[int] = []

    def send(self: HTTPConnection, data: bytes) -> None:
        written.append(len(data))
        self.sock.sendall(data)

    monkeypatch.setattr(HTTPConnection, "send", send)
    sent(listener, "POST", [], b"x" * n_bytes, n_bytes, b"\r\n\r\n" + b"x" * n_bytes)
    head = len(f"POST /a%2Fb?c=% HTTP/1.1\r\nContent-Length: {n_bytes}\r\n\r\n")
    assert (len(written), sum(written)) == (n_writes, head + n_bytes)
