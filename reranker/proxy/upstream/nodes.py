"""Passes requests on to the engine of the settings, byte for byte; no other module of the proxy opens connections.

Hosts, ports and TLS come from the settings alone. A request gives the path below them, and is sent with its own
credentials or none: the service's password is not lent to callers. The client certificate is: a TLS connection is the
service's, and every caller shares it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException, RemoteDisconnected
from itertools import chain
from typing import Any
from urllib.parse import unquote

import urllib3
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProtocolError, ReadTimeoutError
from urllib3.util import SKIP_HEADER

from reranker.base.errors import BadInput, Busy, StoreUnavailable
from reranker.base.leaving import EndsWithClient, reading_call
from reranker.base.request_context import engine_call
from reranker.base.whole_heads import WholeHeadResponse
from reranker.proxy.upstream.tls import tls_context
from reranker.service.settings import Settings
from reranker.stores.base.addresses import EngineAddress, NodeAddress
from reranker.stores.base.nodes import CONNECT_TIMEOUT_S, NodeOrder

Headers = list[tuple[str, str]]

_BLOCK_BYTES = 65_536
# What urllib3 would add of its own.
_NOT_TO_ADD = ("accept-encoding", "user-agent")
# They change nothing at the engine, and may be sent again when a kept connection turns out to be closed.
_SAFE_METHODS = frozenset(["GET", "HEAD", "OPTIONS"])


class EngineUnreachable(StoreUnavailable):
    """No connection, or one that broke."""

    http_status = 502
    code = "engine_unreachable"


class EngineTimeout(StoreUnavailable):
    """A connection, but no answer in time."""

    http_status = 504
    code = "engine_timeout"


class _NoConnection(EngineUnreachable):
    """Nothing was sent: another node can be asked."""


class _Broken(EngineUnreachable):
    """The connection broke after the request was sent."""


class Upstream:
    """The nodes behind the proxy, in the order of `reranker.stores.base.nodes`; connections are pooled and kept alive,
    and threads may share it."""

    def __init__(self, address: EngineAddress, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Raises:
            BadInput: a PEM file of the settings cannot be used.
        """
        self._timeout_s = settings.proxy_timeout_s
        self._nodes = [_Node(node, address, settings) for node in address.nodes]
        self._order = NodeOrder([node.shown for node in address.nodes], clock)

    def send(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | Iterable[bytes] | None = None,
        n_body_bytes: int | None = None,
        timeout_s: float | None = None,
        is_safe: bool = False,
    ) -> BaseHTTPResponse:
        """Sends a request; the answer's body is still to be read, and its connection to be given back (`Passing`).

        Args:
            target: path and query string as they came, percent-encoding and all (`raw_target`).
            headers: end-to-end ones (`request_headers`).
            n_body_bytes: where it is None, an iterable body is sent in chunks.
            timeout_s: how long to wait for the answer, where that is less than the setting says.
            is_safe: whether it changes nothing at the engine, also where the method does not say so.

        Raises:
            EngineUnreachable, EngineTimeout: with the engine's address.
            Busy: too many requests wait for each node.
            BadInput: the path leads out of the one in the settings.
            ClientLeft: nobody waits for the answer, and the request changes nothing.
        """
        is_safe = is_safe or method in _SAFE_METHODS
        may_repeat = is_safe and (body is None or isinstance(body, bytes))
        read_s = min(self._timeout_s, timeout_s or self._timeout_s)
        failed: StoreUnavailable | None = None
        places = deque(self._order.places())
        while places:
            place = places.popleft()
            try:
                response = self._nodes[place].send(method, target, headers, body, n_body_bytes, read_s, is_safe)
            except _NoConnection as error:
                self._order.took_none(place)
                failed = error
            except Busy as error:
                failed = error
            except _Broken as error:
                if not may_repeat:
                    raise
                may_repeat, failed = False, error
                places.append(place)  # the node may just have closed a kept connection
            else:
                self._order.took_a_connection(place)
                return response
        assert failed is not None  # noqa: S101 - an address has a node
        raise failed

    def close(self) -> None:
        for node in self._nodes:
            node.close()


class _Node:
    """One node, and the connections to it."""

    def __init__(self, node: NodeAddress, address: EngineAddress, settings: Settings) -> None:
        self.shown = node.shown
        self._prefix = address.prefix
        common: dict[str, Any] = {"maxsize": settings.max_engine_calls, "retries": False}
        self._pool: HTTPConnectionPool
        if address.use_tls:
            self._pool = _TlsPool(node.host, node.port, ssl_context=tls_context(settings), **common)
        else:
            self._pool = _Pool(node.host, node.port, **common)

    def send(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | Iterable[bytes] | None,
        n_body_bytes: int | None,
        read_s: float,
        is_safe: bool,
    ) -> BaseHTTPResponse:
        sent = urllib3.HTTPHeaderDict(headers)
        for name in _NOT_TO_ADD:
            if name not in sent:
                sent[name] = SKIP_HEADER
        if n_body_bytes is not None:
            sent["Content-Length"] = str(n_body_bytes)
        try:
            return self._open(method, target, sent, body, read_s, is_safe)
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise _NoConnection(
                f"no connection to the engine at {self.shown} ({_reason(error)}); is it running, and is the "
                f"setting store right?"
            ) from error
        except ReadTimeoutError as error:
            raise EngineTimeout(
                f"the engine at {self.shown} did not answer in time; try again, or raise the setting proxy_timeout_s"
            ) from error
        except HTTPError as error:
            kind = _Broken if isinstance(error, ProtocolError) else EngineUnreachable
            raise kind(
                f"the connection to the engine at {self.shown} failed ({_reason(error)}); try again, and if it fails "
                f"again look into the engine's log"
            ) from error

    def close(self) -> None:
        self._pool.close()

    def _open(
        self,
        method: str,
        target: str,
        headers: urllib3.HTTPHeaderDict,
        body: bytes | Iterable[bytes] | None,
        read_s: float,
        is_safe: bool,
    ) -> BaseHTTPResponse:
        if self._prefix and any(part in (".", "..") for part in unquote(target.split("?", 1)[0]).split("/")):
            raise BadInput("the path has a part '.' or '..'; give the path that is meant")
        with reading_call(is_safe), engine_call(method, self.shown) as call:
            for name, value in call.headers.items():
                headers[name] = value
            response = self._pool.urlopen(
                method,
                f"/{(self._prefix + target).encode('ascii').hex()}",  # read back by `putrequest`
                body,
                headers,
                redirect=False,
                preload_content=False,
                decode_content=False,
                timeout=urllib3.Timeout(connect=min(CONNECT_TIMEOUT_S, read_s), read=read_s),
            )
            call.answered(response.status)
        return response


class Passing:
    """The body of an engine's answer, block by block and not decoded; closing it gives the connection back.

    The first block is read at once, and a short answer of known length whole, so that an answer that breaks off there
    is a 502 and no broken 200. A longer answer raises while it is iterated.

    Raises:
        EngineUnreachable, EngineTimeout: the answer breaks off, or its next block does not come in time.
    """

    def __init__(self, response: BaseHTTPResponse) -> None:
        self._response = response
        self._blocks = response.stream(_BLOCK_BYTES, decode_content=False)
        self._is_whole = False
        try:
            self._read = [self._next()]
            if not response.chunked and len(self._read[0] or b"") < _BLOCK_BYTES:
                self._read.append(self._next())  # nothing is waited for: a block is short at the end only
        except StoreUnavailable:
            response.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        read, self._read = self._read, []
        for block in chain(read, iter(self._next, None)):
            if block is not None:
                yield block

    def close(self) -> None:
        if self._is_whole:
            self._response.release_conn()
        else:
            self._response.close()

    def _next(self) -> bytes | None:
        try:
            block = next(self._blocks, None)
        except ReadTimeoutError as error:
            raise EngineTimeout(
                "the engine's answer stopped; try again, or raise the setting proxy_timeout_s"
            ) from error
        except HTTPError as error:
            raise EngineUnreachable(f"the engine's answer broke off ({_reason(error)}); try again") from error
        self._is_whole = block is None
        return block


def _reason(error: Exception) -> str:
    """The innermost cause in a few words; urllib3's own texts name addresses and objects.

    Only failures of connections are looked at: an error that was being handled when the request was sent, such as a
    body that is nested too deeply to be read, is its context too, and not its cause.
    """
    inner: BaseException = error
    while isinstance(cause := inner.__cause__ or inner.__context__, OSError | HTTPError | HTTPException):
        inner = cause
    if isinstance(inner, RemoteDisconnected):
        return "it was closed without an answer"
    return getattr(inner, "strerror", None) or type(inner).__name__


class _EngineConnection(EndsWithClient):
    """Sends the request target as it is, and is not kept after a 400.

    urllib3 would write the case of escapes and a lone `%` anew, so it is given the target in hexadecimal, which it
    leaves alone, and which is read back here.

    An engine that cannot read the head of a request (a header over its limit, a control character) answers 400, keeps
    the connection open and never answers on it again. The next caller's request on it would wait for nothing.
    """

    _is_spent = False

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        target = bytes.fromhex(url.removeprefix("/")).decode("ascii")
        super().putrequest(method, target, *args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        response = super().getresponse()
        self._is_spent = response.status == 400
        return response

    @property
    def is_connected(self) -> bool:
        """The pool opens a connection anew where this is false."""
        return bool(super().is_connected) and not self._is_spent  # type: ignore[misc]


class _Connection(_EngineConnection, HTTPConnection):
    response_class = WholeHeadResponse


class _TlsConnection(_EngineConnection, HTTPSConnection):
    response_class = WholeHeadResponse


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection
