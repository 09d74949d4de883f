"""Sends malformed HTTP to a port on this machine and reads the answer."""

from __future__ import annotations

import re
import socket
from random import Random

from campaign.tools.mutation import mutated

_CONNECT_S, _FIRST_S, _NEXT_S = 30.0, 3.0, 0.5


def make_bytes(random: Random, index: str) -> bytes:
    """A request with an error in framing, syntax or size. Half of them also have random changes."""
    content = random.choice(_CASES).replace(b"INDEX", index.encode())
    content = content.replace(b"LONG", b"a" * random.choice((10, 9_000, 70_000, 300_000)))
    return mutated(content, random, most=2) if random.random() < 0.5 else content


_SEARCH = b'{"query":{"match":{"text":"x"}}}'
_POST = b"POST /INDEX/_search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_CASES = (
    _POST + b"Content-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: 5\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: 500\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: -1\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: +32\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: 32\r\nContent-Length: 31\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: 99999999999999999999\r\n\r\n" + _SEARCH,
    _POST + b"Content-Length: 32\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" + _SEARCH + b"\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n20\r\n" + _SEARCH + b"\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + _SEARCH + b"\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + _SEARCH,
    _POST + b"Transfer-Encoding: xchunked\r\n\r\n" + _SEARCH,
    _POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    _POST + b"Content-Encoding: gzip\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b"Content-Encoding: br\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b"Expect: 100-continue\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b"X-Long: LONG\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b"X-Fold: a\r\n b\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b": no name\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    _POST + b"X-Null: a\x00b\r\nContent-Length: 32\r\n\r\n" + _SEARCH,
    b"GET /LONG HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /INDEX/_search?q=LONG HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /INDEX/_search HTTP/1.1\r\n\r\n",
    b"GET /INDEX/_search HTTP/1.0\r\n\r\n",
    b"GET /INDEX/_search HTTP/2.0\r\nHost: localhost\r\n\r\n",
    b"GET /INDEX/_search\r\n\r\n",
    b"GET http://localhost/INDEX/_search HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /INDEX/_doc/a%0Ab HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /INDEX/_doc/%ff%fe%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /INDEX/_doc/% HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /-/static/..%2f..%2f HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"BREW /INDEX HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"HEAD /INDEX HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3,
    b"CONNECT localhost:9200 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
    b"\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n\xff\xfe{}",
    b"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16\r\n\r\n{\"query\": \"LONG\"}",
)  # fmt: skip


def send_bytes(port: int, content: bytes) -> bytes:
    """The whole answer until the service closes the connection, or is silent because it waits for more of the request.

    Raises:
        OSError: the connection was refused or reset before an answer.
    """
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_S) as connection:
        try:
            connection.sendall(content)
            connection.settimeout(_FIRST_S)
            while part := connection.recv(65536):
                answer += part
                connection.settimeout(_NEXT_S)
        except OSError:
            if not answer:
                raise
    return answer


def status_of(answer: bytes) -> int | None:
    """The first status of an answer; None for no answer."""
    found = re.match(rb"HTTP/\d\.\d (\d{3})", answer)
    return int(found.group(1)) if found else None
