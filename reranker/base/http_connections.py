"""Speaks HTTP/1.1 on connections that are kept: a request goes as it is given, and the answer comes as it was written.

An HTTP client for all purposes takes three (http.client) to ten times (urllib3) the CPU time for a request and its
answer: it adds headers, follows redirects, decodes bodies, and reads heads with a parser of e-mails. The proxy wants
none of that.
"""

from __future__ import annotations

import select
import socket
import ssl
import weakref
from collections import deque
from collections.abc import Iterable
from http.client import BadStatusLine, HTTPException, IncompleteRead, LineTooLong, RemoteDisconnected
from typing import BinaryIO

import regex

from reranker.base.leaving import waits_on

Headers = list[tuple[str, str]]

# As http.client.
_MAX_LINE_BYTES = 65_536
_MAX_HEADERS = 100
_NO_BODY_EXPECTED = frozenset(["GET", "HEAD", "DELETE", "TRACE", "OPTIONS"])
_EMPTY_LINE = (b"\r\n", b"\n")
# They would end a line, or a part of the first line.
_ends_part = regex.compile(r"[\x00-\x20\x7f]").search
_ends_line = regex.compile(r"[\r\n]").search


class NotConnected(Exception):
    """No connection could be made, so nothing was sent; the cause is the OSError."""


class Answer:
    """An answer whose body is still to be read. Its connection is kept once the body was read to its end.

    Attributes:
        headers: in their order, with the names as the node wrote them.
        encoding: the value of `Content-Encoding`; empty where it is missing.
    """

    _is_kept = False

    def __init__(self, connection: Connection, file: BinaryIO, method: str) -> None:
        """
        Args:
            file: reads from the connection.
            method: of the request.

        Raises:
            HTTPException: this is no answer, or it was cut off in its head.
            OSError: the connection broke, or nothing came in time.
        """
        self._connection: Connection | None = connection
        self._file = file
        self.status = 100
        while self.status == 100:  # it may say that it waits for the body
            version, self.status, self.reason = _status_line(file.readline(_MAX_LINE_BYTES))
            self.headers: Headers = _headers(file)
        named = {name.lower(): value for name, value in self.headers}
        self.encoding = named.get("content-encoding", "")
        said = {part.strip() for part in named.get("connection", "").lower().split(",")}
        self._is_chunked = named.get("transfer-encoding", "").lower() == "chunked"
        # Bytes that are left of the body, or of its chunk; None for all that come until the connection is closed.
        self._left: int | None = None
        if method == "HEAD" or self.status in (204, 304) or self.status < 200:
            self._left, self._is_chunked = 0, False
        elif self._is_chunked:
            self._left = 0
        elif (length := named.get("content-length", "")).isdecimal():
            self._left = int(length)
        # A node that cannot read the head of a request (a header over its limit, a control character) answers 400,
        # keeps the connection open and never answers on it again.
        is_kept = "close" not in said if version != b"HTTP/1.0" else "keep-alive" in said
        self._is_kept = is_kept and self._left is not None and self.status != 400

    def read_block(self, most: int) -> bytes:
        """The next bytes of the body, as many as were asked for or as there are in its chunk; empty at its end.

        Raises:
            HTTPException, OSError: the body breaks off, or its next part does not come in time.
        """
        if self._connection is None:
            return b""
        if self._is_chunked and not self._left:
            self._left = self._next_chunk()
            if not self._left:
                _headers(self._file)  # those behind the body say nothing that engines use
                self._is_chunked = False
        if self._left == 0:
            self._finish()
            return b""
        block = self._file.read(most if self._left is None else min(most, self._left))
        if self._left is None:
            if not block:
                self._finish()
            return block
        self._left -= len(block)
        if self._left and len(block) < most:
            raise IncompleteRead(block, self._left)
        if self._is_chunked and not self._left:
            _line(self._file)
        elif not self._left:
            self._finish()
        return block

    def read(self, most: int) -> bytes:
        """So many bytes of the body, or all that there are.

        Raises:
            HTTPException, OSError: as `read_block`.
        """
        blocks, n_bytes = [], 0
        while n_bytes < most and (block := self.read_block(most - n_bytes)):
            blocks.append(block)
            n_bytes += len(block)
        return b"".join(blocks)

    def close(self) -> None:
        """Gives up what is left of the body, and the connection with it."""
        self._is_kept = self._is_kept and self._left == 0 and not self._is_chunked
        self._finish()

    def __del__(self) -> None:
        self.close()  # of one that nobody reads to its end

    def _next_chunk(self) -> int:
        size = _line(self._file).partition(b";")[0]
        try:
            return int(size, 16)
        except ValueError:
            raise IncompleteRead(b"") from None

    def _finish(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._file.close()
        if self._is_kept:
            connection.kept.add(connection)
        else:
            connection.close()


def _line(file: BinaryIO) -> bytes:
    line = file.readline(_MAX_LINE_BYTES)
    if not line.endswith(b"\n"):
        raise LineTooLong("head") if len(line) == _MAX_LINE_BYTES else IncompleteRead(line)
    return line


def _headers(file: BinaryIO) -> Headers:
    """Reads header lines up to the empty one."""
    headers: Headers = []
    while (line := _line(file)) not in _EMPTY_LINE:
        text = line.decode("latin-1")
        name, colon, value = text.partition(":")
        if text[0] in " \t" and headers:  # RFC 9112, 5.2: the line before goes on
            name, before = headers.pop()
            value = f"{before} {text.strip()}"
        elif not colon:
            raise HTTPException("a header without a colon")
        headers.append((name, value.strip(" \t\r\n")))
        if len(headers) > _MAX_HEADERS:
            raise HTTPException(f"more than {_MAX_HEADERS} headers")
    return headers


def _status_line(line: bytes) -> tuple[bytes, int, str]:
    """Version, status and reason.

    Raises:
        RemoteDisconnected: there is none.
        IncompleteRead: it is cut off, or too long.
        BadStatusLine: it is not one of HTTP/1.
    """
    if not line:
        raise RemoteDisconnected("the connection was closed without an answer")
    if not line.endswith(b"\n"):
        raise IncompleteRead(line)
    version, _, rest = line.partition(b" ")
    status, _, reason = rest.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not status.strip().isdigit() or not 100 <= int(status) <= 999:
        raise BadStatusLine(line.decode("latin-1"))
    return version, int(status), reason.decode("latin-1").strip()


class Connection:
    """A connection to a node, for one request after another."""

    def __init__(self, sock: socket.socket, kept: _Kept) -> None:
        self.sock = sock
        self.kept = kept
        self.poll = select.poll()
        self.poll.register(sock, select.POLLIN)

    def ask(
        self, method: str, head: bytes, body: bytes | Iterable[bytes] | None, is_chunked: bool, timeout_s: float
    ) -> Answer:
        """Sends a request, and reads the head of its answer.

        Args:
            head: `request_head`.
            is_chunked: whether a body that is no bytes is sent in chunks.

        Raises:
            HTTPException, OSError: as `Answer`.
        """
        if self.sock.gettimeout() != timeout_s:
            self.sock.settimeout(timeout_s)
        file = self.sock.makefile("rb")
        try:
            if body is None or isinstance(body, bytes):
                self.sock.sendall(head + (body or b""))
            else:
                self._send_blocks(head, body, is_chunked)
            waits_on(self.sock)
            return Answer(self, file, method)
        except BaseException:
            file.close()
            self.close()
            raise

    def _send_blocks(self, head: bytes, blocks: Iterable[bytes], is_chunked: bool) -> None:
        """Stops where the node takes no more: it may have answered already that the body is too large."""
        try:
            self.sock.sendall(head)
            for block in blocks:
                if block:
                    self.sock.sendall(b"%x\r\n%b\r\n" % (len(block), block) if is_chunked else block)
            if is_chunked:
                self.sock.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def close(self) -> None:
        self.sock.close()


class _Kept:
    """Connections that wait for a request, the last used one first; safe to share between threads."""

    def __init__(self, n_most: int) -> None:
        self._n_most = n_most
        self._connections: deque[Connection] = deque()

    def add(self, connection: Connection) -> None:
        if len(self._connections) < self._n_most:
            self._connections.append(connection)
        else:
            connection.close()

    def take(self) -> Connection | None:
        """One that is still open; None where there is none."""
        while self._connections:
            try:
                connection = self._connections.pop()
            except IndexError:  # another thread took it
                return None
            if not connection.poll.poll(0):
                return connection
            connection.close()  # the node has closed it meanwhile, or sent what nobody asked for
        return None

    def close(self) -> None:
        """Keeps none from here on."""
        self._n_most = 0
        while self._connections:
            self._connections.pop().close()


class ConnectionPool:
    """The connections to one node; safe to share between threads.

    Args:
        n_kept: connections that are kept at most.
        tls: None for plain connections.
    """

    def __init__(self, host: str, port: int, n_kept: int, tls: ssl.SSLContext | None, connect_timeout_s: float) -> None:
        self._host, self._port = host, port
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        name = f"[{host}]" if ":" in host else host
        self.host = name if port == (443 if tls is not None else 80) else f"{name}:{port}"
        self._kept = _Kept(n_kept)
        self.kept = self._kept.take
        self.close = weakref.finalize(self, self._kept.close)

    def connect(self, timeout_s: float) -> Connection:
        """A new connection.

        Raises:
            NotConnected: there is none.
            OSError: the node takes it, but there is no TLS.
        """
        timeout_s = min(self._connect_timeout_s, timeout_s)
        try:
            sock = socket.create_connection((self._host, self._port), timeout_s)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise NotConnected from error
        if self._tls is not None:
            try:
                sock = self._tls.wrap_socket(sock, server_hostname=self._host)
            except BaseException:
                sock.close()
                raise
        return Connection(sock, self._kept)


def request_head(
    method: str, target: str, host: str, headers: Headers, body: bytes | Iterable[bytes] | None, n_bytes: int | None
) -> bytes:
    """The head of a request.

    Args:
        headers: without `Host`, `Content-Length` and `Transfer-Encoding`.
        n_bytes: of the body; None for a body of unknown length, which goes in chunks.

    Raises:
        ValueError: a part holds what would end it; nobody else's request is to be smuggled in.
    """
    if _ends_part(method) or _ends_part(target):
        raise ValueError(f"the request line holds a blank or control character: {method!r} {target!r}")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is None and method not in _NO_BODY_EXPECTED:
        n_bytes = 0
    if n_bytes is not None:
        lines.append(f"Content-Length: {n_bytes}")
    elif body is not None:
        lines.append("Transfer-Encoding: chunked")
    for line in lines:
        if _ends_line(line):
            raise ValueError(f"a header holds a line end: {line!r}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
