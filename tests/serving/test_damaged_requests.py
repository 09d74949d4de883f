"""Requests that are damaged, refused or sent in parts are answered, and stop nobody else."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from waitress.adjustments import Adjustments

from sinkrank.serving.bodies import Parser, Room
from tests.support.service import serving
from tests.support.waiting import PATIENCE_S

HOST = b"Host: localhost\r\n"


def echo(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
    """Answers with method, path and body."""
    body = environ["wsgi.input"].read()
    answer = f"<{environ['REQUEST_METHOD']} {environ['PATH_INFO']} ".encode() + body + b">"
    start("200 OK", [("Content-Length", str(len(answer)))])
    return [answer]


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with serving(echo) as url, socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as one:
        one.settimeout(PATIENCE_S)
        yield one


def answer_to(connection: socket.socket, sent: bytes) -> bytes:
    """What comes up to the end of an answer of `echo`, or of the connection."""
    connection.sendall(sent)
    read = b""
    while not read.endswith(b">") and (block := connection.recv(65_536)):
        read += block
    return read


@pytest.mark.parametrize(
    ("head", "echoed"),
    [
        (b"POST /_refresh HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n", b"<POST /_refresh >"),
        (b"GET /a HTTP/1.1\r\n" + HOST, b"<GET /a >"),
    ],
)
def test_who_waits_for_continue_without_a_body_is_answered(
    connection: socket.socket, head: bytes, echoed: bytes
) -> None:
    """RFC 9110, 10.1.1: 100 may be left out where the answer comes without a body being read."""
    for _ in range(2):
        answer = answer_to(connection, head + b"Expect: 100-continue\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n" + echoed)


def test_who_waits_for_continue_may_send_the_body_then(connection: socket.socket) -> None:
    head = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    for _ in range(2):
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert answer_to(connection, b"abc").endswith(b"\r\n\r\n<POST /a abc>")


@pytest.mark.parametrize(
    ("length", "status"),
    [(b"9999999999", b"413 Request Entity Too Large"), (b"abc", b"400 Bad Request")],
)
def test_a_body_that_is_refused_is_not_asked_for(connection: socket.socket, length: bytes, status: bytes) -> None:
    head = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: " + length + b"\r\nExpect: 100-continue\r\n\r\n"
    assert answer_to(connection, head).startswith(b"HTTP/1.1 " + status + b"\r\n")


@pytest.mark.parametrize(
    "head",
    [
        b"GET http://[x HTTP/1.1\r\n" + HOST,
        b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: " + b"1" * 5_000 + b"\r\n",
    ],
)
def test_a_head_that_cannot_be_read_is_a_bad_request(
    connection: socket.socket, head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert answer_to(connection, head + b"\r\n").startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert caplog.records == []


MANY = 1_000_000


@pytest.mark.parametrize(
    ("head", "read"),
    [
        (b"GET / HTTP/1.1\r\nX:" + b" " * MANY + b"a  b \r\n", "a  b"),
        (b"GET / HTTP/1.1\r\nX: a\r\nX:\r\n" + b"\t" * MANY + b"b\r\n", "a, b"),
        (b"GET / HTTP/1.1\r\nX: a:" + b" " * 20 + b"b\r\n", "a:" + " " * 20 + "b"),
        (b"GET a://" + b"1" * MANY + b" / HTTP/1.1\r\n", None),
    ],
)
def test_no_head_takes_time_that_grows_with_its_square(head: bytes, read: str | None) -> None:
    """Where it does, these take days, in which no other request is read."""
    parser = Parser(Adjustments(max_request_header_size=2 * MANY), Room(0))
    parser.received(head + b"\r\n")
    assert (parser.error is None) == (read is not None)
    assert parser.headers.get("X") == read


def test_a_head_over_64_kilobytes_is_refused(connection: socket.socket) -> None:
    head = b"GET /a HTTP/1.1\r\n" + HOST + b"X: "
    assert answer_to(connection, head.ljust(65_530, b"1") + b"\r\n\r\n").endswith(b"<GET /a >")
    refused = answer_to(connection, head.ljust(65_536, b"1"))
    assert refused.startswith(b"HTTP/1.0 431 Request Header Fields Too Large\r\n")


CHUNKED = b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(("before", "line"), [(b"", b""), (b"", b"1;a="), (b"0\r\n", b"Trailer: ")])
def test_a_chunk_size_or_trailer_without_an_end_is_a_bad_request(
    connection: socket.socket, before: bytes, line: bytes
) -> None:
    """It is kept in memory until it ends."""
    answer = answer_to(connection, CHUNKED + before + line.ljust(16_385, b"1"))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_chunk_extension_and_a_trailer_of_some_kilobytes_are_read_over(connection: socket.socket) -> None:
    body = b"3;a=" + b"1" * 5_000 + b"\r\nabc\r\n0\r\nTrailer: " + b"1" * 5_000 + b"\r\n\r\n"
    for _ in range(2):
        assert answer_to(connection, CHUNKED + body).endswith(b"\r\n\r\n<POST /a abc>")
