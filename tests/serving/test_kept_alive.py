"""The server keeps a client's connection wherever an answer shows where it ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.support.service import serving
from tests.support.waiting import PATIENCE_S

Start = Callable[[str, list[tuple[str, str]]], object]


def application(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
    """Answers in two parts of unknown length; `/known` in one of known length, `/empty` with 204, `/broken` in one part
    and an error."""
    path = environ["PATH_INFO"]
    start("204 No Content" if path == "/empty" else "200 OK", [("Content-Type", "text/plain")])
    if path == "/known":
        return [b"one two"]
    return parts(path) if environ["REQUEST_METHOD"] != "HEAD" and path != "/empty" else []


def parts(path: str) -> Iterator[bytes]:
    yield b"one "
    if path == "/broken":
        raise OSError("the engine went away")
    yield b"two"


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with serving(application) as url, socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as one:
        one.settimeout(PATIENCE_S)
        yield one


def ask(connection: socket.socket, *lines: str) -> None:
    connection.sendall("".join(f"{line}\r\n" for line in (*lines, "Host: localhost", "")).encode())


def until(connection: socket.socket, end: bytes) -> bytes:
    """What is read until it ends with `end`, or until the connection is closed."""
    read = b""
    while not read.endswith(end) and (block := connection.recv(1)):
        read += block
    return read


CHUNKED = b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"


def test_after_an_answer_in_chunks_the_next_request_is_read(connection: socket.socket) -> None:
    for _ in range(2):
        ask(connection, "GET / HTTP/1.1")
        headers = until(connection, b"\r\n\r\n")
        assert headers.startswith(b"HTTP/1.1 200 OK")
        assert b"Connection" not in headers
        assert until(connection, b"0\r\n\r\n") == CHUNKED


@pytest.mark.parametrize(("method", "path", "status"), [("HEAD", "/", b"200 OK"), ("GET", "/empty", b"204 No Content")])
def test_after_an_answer_without_a_body_the_next_request_is_read(
    connection: socket.socket, method: str, path: str, status: bytes
) -> None:
    for _ in range(2):
        ask(connection, f"{method} {path} HTTP/1.1")
        headers = until(connection, b"\r\n\r\n")
        # Nothing lies between the answers: a last chunk here would stand before the second one.
        assert headers.startswith(b"HTTP/1.1 " + status)
        assert b"Connection" not in headers


@pytest.mark.parametrize(("path", "body"), [("/", CHUNKED), ("/empty", b"")])
def test_who_asks_for_it_is_cut_off(connection: socket.socket, path: str, body: bytes) -> None:
    ask(connection, f"GET {path} HTTP/1.1", "Connection: close")
    assert b"\r\nConnection: close\r\n" in until(connection, b"\r\n\r\n")
    assert until(connection, b"no such end") == body


@pytest.mark.parametrize(("path", "body"), [("/", b"one two"), ("/empty", b"")])
def test_an_old_client_sees_the_end_by_the_connection_that_closes(
    connection: socket.socket, path: str, body: bytes
) -> None:
    ask(connection, f"GET {path} HTTP/1.0")
    assert b"\r\nConnection: close\r\n" in until(connection, b"\r\n\r\n")
    assert until(connection, b"no such end") == body


def test_an_answer_that_breaks_off_does_not_look_whole(connection: socket.socket) -> None:
    ask(connection, "GET /broken HTTP/1.1")
    until(connection, b"\r\n\r\n")
    assert until(connection, b"no such end") == b"4\r\none \r\n"


TWO_LENGTHS = {
    "length first": ("HTTP/1.1", "Content-Length: 3", "Transfer-Encoding: chunked"),
    "length last": ("HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 5", "Connection: keep-alive"),
    "old client": ("HTTP/1.0", "Content-Length: 5", "Transfer-Encoding: chunked", "Connection: keep-alive"),
    "old client, no length": ("HTTP/1.0", "Transfer-Encoding: chunked", "Connection: keep-alive"),
}


@pytest.mark.parametrize("kind", TWO_LENGTHS)
def test_after_a_body_with_two_lengths_the_connection_is_closed(connection: socket.socket, kind: str) -> None:
    """RFC 9112, 6.1: what follows may be the body to a server in front, and a request to us."""
    version, *headers = TWO_LENGTHS[kind]
    another = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lines = [f"POST /known {version}", "Host: localhost", *headers, "", "0", "", another]
    connection.sendall("\r\n".join(lines).encode())
    answer = until(connection, b"no such end")
    assert answer.startswith(f"{version} 200 OK".encode())
    assert b"\r\nConnection: close\r\n" in answer
    assert answer.endswith(b"\r\n\r\none two")  # and no other answer


@pytest.mark.parametrize(
    "body", ["Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"]
)
def test_after_a_body_with_one_length_the_next_request_is_read(connection: socket.socket, body: str) -> None:
    for _ in range(2):
        connection.sendall(f"POST /known HTTP/1.1\r\nHost: localhost\r\n{body}".encode())
        assert b"Connection" not in until(connection, b"one two")
