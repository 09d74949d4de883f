"""Sends requests to the nodes of an engine: the one way in which the proxy and the store speak to it.

Hosts, ports and TLS come from the settings alone. A request gives the path below them. It is sent with the headers that
it has, and with the service's credentials only if it says so: the proxy never lends them to callers. The client
certificate it does: a TLS connection is the service's, and every caller shares it.
"""

from __future__ import annotations

import copy
import logging
import ssl
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from itertools import chain
from urllib.parse import unquote

from reranker.base.errors import BadInput, Busy, StoreUnavailable
from reranker.base.leaving import reading_call
from reranker.base.request_context import waiting_for
from reranker.upstream.access import Credentials, EngineAccess
from reranker.upstream.addresses import EngineAddress, NodeAddress
from reranker.upstream.connections import Connection, ConnectionPool, EngineResponse, Headers
from reranker.upstream.node_order import CONNECT_TIMEOUT_S, NodeOrder
from reranker.upstream.tls import reason, tls_context

_BLOCK_BYTES = 65_536
# Kept to each node: as many as wait for it by default (`max_engine_calls`). More requests still work.
_MAX_IDLE = 128
# They change nothing at the engine, and may be sent again when a kept connection turns out to be closed.
_SAFE_METHODS = frozenset(["GET", "HEAD", "OPTIONS"])
# A node that is not part of its cluster yet, and a server in front of one that is away, answer these.
_AWAY_STATUSES = frozenset([502, 503, 504])

_log = logging.getLogger(__name__)


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


class NoTls(_NoConnection):
    """The node takes connections, but TLS is not as we expect it. Another try of this node would not help."""


class _Broken(EngineUnreachable):
    """The connection broke after the request was sent."""


@dataclass(slots=True)
class _Request:
    """The arguments of `Upstream.send`."""

    method: str
    target: str
    headers: Headers
    body: bytes | Iterable[bytes] | None
    n_body_bytes: int | None
    timeout_s: float
    is_safe: bool
    meanwhile: Callable[[], None] | None
    as_service: bool
    is_read: bool


class Upstream:
    """The nodes of an engine, in the order of `reranker.upstream.node_order`. Connections are kept, and threads may
    share it.

    A request that no node has received goes to the next node; so it does if too many requests wait for a node. One that
    changes nothing is sent once more if its connection breaks, to the next node if there is one, and to the next node
    if the answer is 502, 503 or 504.

    Attributes:
        redacted: the engine's address without credentials.
        timeout_s: how long a request waits for its answer, unless it says otherwise.
    """

    def __init__(
        self,
        address: EngineAddress,
        access: EngineAccess = EngineAccess(),
        timeout_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Raises:
            BadInput: the access does not fit the address, or a PEM file cannot be used.
        """
        credentials = access.credentials(address)
        if address.use_tls and not access.verify_certs:
            _log.warning("the certificate of %s is not checked", address.redacted)
        tls = tls_context(access) if address.use_tls else None
        self.redacted = address.redacted
        self.timeout_s = timeout_s
        self._nodes = [_Node(node, address.prefix, tls, credentials) for node in address.nodes]
        self._order = NodeOrder([node.redacted for node in address.nodes], clock)

    def send(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | Iterable[bytes] | None = None,
        n_body_bytes: int | None = None,
        timeout_s: float | None = None,
        is_safe: bool = False,
        meanwhile: Callable[[], None] | None = None,
        as_service: bool = False,
        is_read: bool = False,
    ) -> EngineResponse:
        """Sends a request; the answer's body is still to be read (`Passing`), or the answer to be closed.

        Args:
            target: path and query string as they came, percent-encoding and all (`raw_target`).
            headers: end-to-end ones.
            n_body_bytes: of an iterable body; where it is None, the body is sent in chunks.
            timeout_s: how long to wait for the answer; None for `self.timeout_s`.
            is_safe: whether it changes nothing at the engine, also where the method does not say so.
            meanwhile: called while the node works on the answer, again if the request has to be sent again.
            as_service: whether to add the service's own credentials.
            is_read: whether to read the answer, of any size, to its end: `body` of the answer.

        Raises:
            EngineUnreachable, EngineTimeout: with the engine's address.
            Busy: too many requests wait for each node.
            BadInput: the path leads out of the one in the settings.
            ClientLeft: nobody waits for the answer, and the request changes nothing.
        """
        is_safe = is_safe or method in _SAFE_METHODS
        timeout_s = timeout_s or self.timeout_s
        n_bytes = len(body) if isinstance(body, bytes) else n_body_bytes
        return self._first(
            _Request(method, target, headers, body, n_bytes, timeout_s, is_safe, meanwhile, as_service, is_read)
        )

    def parted(self) -> list[Upstream]:
        """Returns one for each node, which asks no other. They share this one's connections."""
        parts = []
        for node in self._nodes:
            part = copy.copy(self)
            part.redacted, part._nodes, part._order = node.redacted, [node], NodeOrder([node.redacted])
            parts.append(part)
        return parts

    def close(self) -> None:
        for node in self._nodes:
            node.close()

    def _first(self, request: _Request) -> EngineResponse:
        """The answer of the first node that gives one."""
        failed: StoreUnavailable | None = None
        may_repeat = request.is_safe and (request.body is None or isinstance(request.body, bytes))
        places = deque(self._order.places())
        while places:
            place = places.popleft()
            try:
                answer = self._nodes[place].send(request)
            except _NoConnection as error:
                self._order.took_none(place)
                failed = error
                continue
            except Busy as error:
                failed = error
                continue
            except _Broken as error:
                if not may_repeat:
                    raise
                failed = error
            else:
                self._order.took_a_connection(place)
                if answer.status not in _AWAY_STATUSES or not (may_repeat and places):
                    return answer
                answer.close()
            # Once more: by the next node, and by this one only if no other takes it, since it may just have closed a
            # kept connection.
            may_repeat = False
            places.append(place)
        assert failed is not None  # noqa: S101 - an address has a node
        if isinstance(failed, _NoConnection) and not isinstance(failed, NoTls) and len(self._nodes) > 1:
            raise EngineUnreachable(f"no node of {self.redacted} takes the request; the last one: {failed}") from failed
        raise failed


class _Node:
    """One node, and the connections to it."""

    def __init__(self, node: NodeAddress, prefix: str, tls: ssl.SSLContext | None, credentials: Credentials) -> None:
        self.redacted = node.redacted
        self._prefix = prefix
        self._pool = ConnectionPool(node.host, node.port, _MAX_IDLE, tls, CONNECT_TIMEOUT_S)
        self._url = f"{'http' if tls is None else 'https'}://{self._pool.host}"
        self._credentials = credentials

    def send(self, request: _Request) -> EngineResponse:
        if self._prefix and any(part in (".", "..") for part in unquote(request.target.split("?", 1)[0]).split("/")):
            raise BadInput("the path has a part '.' or '..'; give the path that is meant")
        method, target = request.method, self._prefix + request.target
        headers = [("Host", self._pool.host), *request.headers]
        if request.as_service:
            headers += self._credentials(method, self._url + target, request.body).items()
        try:
            with reading_call(request.is_safe), waiting_for(self.redacted):
                connection = self._connection(request.timeout_s)
                answer = connection.ask(
                    method, target, headers, request.body, request.n_body_bytes, request.timeout_s, request.meanwhile
                )
                if request.is_read:
                    with closing(answer):
                        blocks = iter(partial(answer.read_block, _BLOCK_BYTES), b"")
                        answer.body = uncompressed(b"".join(blocks), answer.encoding)
                return answer
        except (OSError, HTTPException, zlib.error) as error:
            if _took_too_long(error):
                raise EngineTimeout(
                    f"{self.redacted} did not answer in {request.timeout_s:g} s; see whether it is overloaded, or "
                    f"raise store_timeout_s (for requests that are passed on, proxy_timeout_s)"
                ) from error
            raise _Broken(
                f"the connection to {self.redacted} broke ({reason(error)}); try again, and if it breaks again look "
                f"into the engine's log, or check http or https of this address"
            ) from error

    def close(self) -> None:
        self._pool.close()

    def _connection(self, timeout_s: float) -> Connection:
        try:
            return self._pool.connection(timeout_s)
        except OSError as error:
            if isinstance(error, ssl.SSLCertVerificationError):
                raise NoTls(
                    f"the certificate of {self.redacted} is not trusted ({error.verify_message}); if its authority "
                    f"is unknown, give its file as store_ca_certs and restart the service, which reads it at its "
                    f"start; else renew the certificate, or name the host as it does"
                ) from error
            if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):  # of a node that went away
                raise NoTls(
                    f"no TLS connection to {self.redacted} ({reason(error)}); if the engine has no TLS, "
                    f"write http:// or opensearch://"
                ) from error
            raise _NoConnection(
                f"nothing answers at {self.redacted} ({reason(error)}); start the engine, or check host, port and "
                f"http or https of this address (the setting store, or what the command names)"
            ) from error


def _took_too_long(error: Exception) -> bool:
    """Whether a call took the time that it had. The system's own timeouts, which have a number, are of hosts that are
    away."""
    return isinstance(error, TimeoutError) and error.errno is None


def uncompressed(data: bytes, encoding: str, most: int = 0) -> bytes:
    """An answer without its compression. Nobody asked for one, but a server between may compress all the same.

    Args:
        encoding: the value of `Content-Encoding`.
        most: how many bytes to give at most; 0 for all.

    Raises:
        zlib.error: it is damaged.
    """
    if encoding.lower() not in ("gzip", "deflate"):
        return data
    return zlib.decompressobj(wbits=32 + zlib.MAX_WBITS).decompress(data, most)


class Passing:
    """The body of an engine's answer, block by block and not decoded; closing it gives the connection back.

    The first block is read at once, so that an answer that breaks off there is a 502 and no broken 200. A longer answer
    raises while it is iterated.

    Raises:
        EngineUnreachable, EngineTimeout: the answer breaks off, or its next block does not come in time.
    """

    def __init__(self, answer: EngineResponse) -> None:
        self._answer = answer
        self._read = self._next()

    def __iter__(self) -> Iterator[bytes]:
        return chain([self._read] if self._read else [], iter(self._next, b""))

    def close(self) -> None:
        self._answer.close()

    def _next(self) -> bytes:
        try:
            return self._answer.read_block(_BLOCK_BYTES)
        except (OSError, HTTPException) as error:
            self.close()
            if _took_too_long(error):
                raise EngineTimeout(
                    "the engine's answer stopped; try again, or raise the setting proxy_timeout_s"
                ) from error
            raise EngineUnreachable(f"the engine's answer broke off ({reason(error)}); try again") from error
