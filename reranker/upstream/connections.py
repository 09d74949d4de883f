"""Connections to the engine that are kept: http.client's, with answers that are read as they were written.

http.client alone takes a third of the CPU time of urllib3, whose redirects, retries and decoding the proxy has no use
for.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from typing import Any, cast

from werkzeug.http import HTTP_STATUS_CODES

from reranker.base.leaving import waits_on
from reranker.upstream.whole_heads import WholeHeadResponse

Headers = list[tuple[str, str]]

# A server waits for the body of other methods if the head does not say that there is none.
_NO_BODY_EXPECTED = frozenset(["GET", "HEAD", "DELETE", "TRACE", "OPTIONS"])
# A larger body is not copied behind its head.
_SMALL_BYTES = 65_536
_TAKES_NO_MORE = (BrokenPipeError, ConnectionResetError)
# A node that cannot read the head of a request (a header over its limit, a control character) answers 400, keeps the
# connection open and never answers on it again. OpenSearch's security plugin may keep a refusal (401) that CORS covered
# with its own (403), and answer the next request on the connection with it, whoever sends that.
_ENDS_CONNECTION = frozenset([400, 401, 403])
# A host that acknowledges nothing for so long is away: without power, or cut off. One that is up does, however long its
# node works on an answer.
_AWAY_S = 10
# Where the system has them: a connection on which nothing moves is tried after so many seconds, and then each second.
_TRIES = {"TCP_KEEPIDLE": _AWAY_S // 2, "TCP_KEEPALIVE": _AWAY_S // 2, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": _AWAY_S // 2}
# Windows has no poll; elsewhere select takes no socket of a number above 1,023.
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class EngineResponse:
    """An answer whose body is still to be read. Its connection is kept once the body was read to its end.

    Attributes:
        headers: in their order, with the names as the node wrote them.
        encoding: the value of `Content-Encoding`; empty where it is missing.
        body: without compression, once the answer was read to its end.
    """

    body = b""

    def __init__(self, connection: Connection, response: WholeHeadResponse) -> None:
        """
        Raises:
            HTTPException: the head is not that of an answer, holds a line that is no header, or has a `Content-Length`
                that is no number, or two that differ.
        """
        self._connection: Connection | None = None
        self._response = response
        if response.status < 200:  # http.client skips 100 alone; the answer would be taken for that to the next request
            raise HTTPException(f"the answer to come was announced by {response.status}, which nobody asked for")
        if response.headers.defects:
            raise HTTPException(f"the head of the answer is damaged: {response.headers.defects[0]!r}")
        headers: Headers = [(name, _one_line(value)) for name, value in response.headers.items()]
        if response.chunked:  # then a length does not count, and is not passed on (RFC 9112, 6.3)
            headers = [each for each in headers if each[0].lower() != "content-length"]
        lengths = {value for name, value in headers if name.lower() == "content-length"}
        if len(lengths) > 1 or not all(map(str.isdecimal, lengths)):
            raise HTTPException(f"the Content-Length of the answer is not one number: {sorted(lengths)}")
        self._connection = connection
        self.status, self.reason, self.headers = response.status, response.reason, headers
        self.encoding = response.headers.get("content-encoding", "")

    @property
    def status_line(self) -> str:
        """Code and reason phrase."""
        return f"{self.status} {self.reason or HTTP_STATUS_CODES.get(self.status, '')}"

    def read_block(self, most: int) -> bytes:
        """The next bytes of the body, as many as were asked for or as there are in its chunk; empty at its end.

        Raises:
            HTTPException, OSError: the body breaks off, or its next part does not come in time.
        """
        if self._connection is None:
            return b""
        response = self._response
        if response.length == 0:
            self._finish()
            return b""
        block = response.read1(most) if response.chunked else response.read(most)
        if response.chunked and (response.chunk_left or 0) < 0:
            raise HTTPException("a chunk of the answer has a negative size")
        if block and response.chunked and response.chunk_left:
            block += response.read(min(most - len(block), response.chunk_left))
        if response.length and len(block) < most:  # http.client takes the end of the connection for that of the body
            raise IncompleteRead(block, response.length)
        if not block or response.isclosed():
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
        if self._response.length == 0:
            self._finish()
        elif self._connection is not None:
            self._connection.close()
            self._connection = None
            self._response.close()

    def __del__(self) -> None:
        self.close()  # of one that nobody reads to its end

    def _finish(self) -> None:
        connection, self._connection = self._connection, None
        self._response.close()
        if connection is not None:
            waits_on(None)
        if connection is not None and not self._response.will_close and self.status not in _ENDS_CONNECTION:
            connection.release()
        elif connection is not None:
            connection.close()


def _one_line(value: str) -> str:
    """The value of a header, which may go on in the next line (RFC 9112, 5.2)."""
    return " ".join(part.strip(" \t") for part in value.split("\r\n")) if "\n" in value else value.strip(" \t")


class Connection(HTTPConnection):
    """A connection to a node, for one request after another. The head of a request and a small body are sent in one
    write: by a second one the node would wake twice.

    Args:
        idle: where it waits for the next request.
    """

    response_class = WholeHeadResponse
    auto_open = 0  # a closed one is not opened again behind our back
    _held: list[bytes] | None = None

    def __init__(self, idle: _IdleConnections, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._idle = idle
        self._selector = _Selector()

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _TRIES.items():
            if hasattr(socket, name):
                self.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._selector.register(self.sock, selectors.EVENT_READ)

    @property
    def is_closed(self) -> bool:
        """Whether the node has closed it meanwhile, or sent what nobody asked for."""
        return bool(self._selector.select(0))

    def ask(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | Iterable[bytes] | None,
        n_bytes: int | None,
        timeout_s: float,
        meanwhile: Callable[[], None] | None = None,
    ) -> EngineResponse:
        """Sends a request with these headers, and reads the head of its answer.

        Args:
            headers: `Host` among them, but not `Content-Length` and `Transfer-Encoding`.
            n_bytes: of the body; None for a body of unknown length, which goes in chunks.
            meanwhile: called while the node works on the answer.

        Raises:
            ValueError, HTTPException: the request holds a control character, or this is no answer.
            OSError: the connection broke, or nothing came in time.
        """
        if body is None and method not in _NO_BODY_EXPECTED:
            n_bytes = 0
        is_chunked = body is not None and n_bytes is None
        try:
            self.sock.settimeout(timeout_s)
            self.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                self.putheader(name, value)
            if is_chunked:
                self.putheader("Transfer-Encoding", "chunked")
            elif n_bytes is not None:
                self.putheader("Content-Length", str(n_bytes))
            if body is None or (isinstance(body, bytes) and len(body) <= _SMALL_BYTES):
                self._end_if_away(_AWAY_S)
                self._end(body)
            else:
                # The host of a node that is slow to read it says that it is full, which looks the same.
                self._end_if_away(0)
                # Where the node takes no more of the body, it may have answered already that this is too large.
                with suppress(*() if isinstance(body, bytes) else _TAKES_NO_MORE):
                    self.endheaders(body, encode_chunked=is_chunked)
            waits_on(self.sock)
            if meanwhile is not None:
                meanwhile()
            return EngineResponse(self, cast(WholeHeadResponse, self.getresponse()))
        except BaseException:
            self.close()
            raise

    def send(self, data: Any) -> None:
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)

    def _end(self, body: bytes | None) -> None:
        """Ends the head of a request, and sends it with its body."""
        self._held = []
        self.endheaders(body)
        held, self._held = self._held, None
        self.send(b"".join(held))

    def _end_if_away(self, seconds: int) -> None:
        """Ends it if the host does not acknowledge for so long what was sent, where the system can; 0: never."""
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1_000 * seconds)

    def release(self) -> None:
        """Keeps it for the next request."""
        self._idle.add(self)


class _TlsConnection(Connection, HTTPSConnection):
    """The same by TLS."""


class _IdleConnections:
    """Connections that wait for a request, the last used one first; safe to share between threads."""

    def __init__(self, max_idle: int) -> None:
        self._max_idle = max_idle
        self._connections: deque[Connection] = deque()

    def add(self, connection: Connection) -> None:
        if len(self._connections) < self._max_idle:
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
            if not connection.is_closed:
                return connection
            connection.close()
        return None

    def close(self) -> None:
        """Keeps none from here on."""
        self._max_idle = 0
        while self._connections:
            self._connections.pop().close()


class ConnectionPool:
    """The connections to one node; safe to share between threads.

    Args:
        n_idle: connections that are kept at most.
        tls: None for plain connections.
    """

    def __init__(self, host: str, port: int, n_idle: int, tls: ssl.SSLContext | None, connect_timeout_s: float) -> None:
        self._host, self._port = host, port
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        name = f"[{host}]" if ":" in host else host
        self.host = name if port == (443 if tls is not None else 80) else f"{name}:{port}"
        self._idle = _IdleConnections(n_idle)
        self.close = weakref.finalize(self, self._idle.close)

    def connection(self, timeout_s: float) -> Connection:
        """One that was kept, or a new one.

        Args:
            timeout_s: how long to wait for a new one at most.

        Raises:
            OSError: there is none.
        """
        idle = self._idle.take()
        if idle is not None:
            return idle
        timeout_s = min(self._connect_timeout_s, timeout_s)
        if self._tls is None:
            connection = Connection(self._idle, self._host, self._port, timeout=timeout_s)
        else:
            connection = _TlsConnection(self._idle, self._host, self._port, timeout=timeout_s, context=self._tls)
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection
