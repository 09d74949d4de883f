"""Passes requests on to the engine of the settings, byte for byte; no other module of the proxy opens connections.

Hosts, ports and TLS come from the settings alone. A request gives the path below them, and is sent with its own
credentials or none: the service's password is not lent to callers. The client certificate is: a TLS connection is the
service's, and every caller shares it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException, RemoteDisconnected
from itertools import chain
from urllib.parse import unquote

from reranker.base.errors import BadInput, Busy, StoreUnavailable
from reranker.base.http_connections import Answer, ConnectionPool, Headers, NotConnected
from reranker.base.leaving import reading_call
from reranker.base.request_context import engine_call
from reranker.service.settings import Settings
from reranker.stores.base.addresses import EngineAddress, NodeAddress
from reranker.stores.base.nodes import CONNECT_TIMEOUT_S, NodeOrder
from reranker.upstream.tls import tls_context

_BLOCK_BYTES = 65_536
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
        meanwhile: Callable[[], None] | None = None,
    ) -> Answer:
        """Sends a request; the answer's body is still to be read (`Passing`), or the answer to be closed.

        Args:
            target: path and query string as they came, percent-encoding and all (`raw_target`).
            headers: end-to-end ones.
            n_body_bytes: where it is None, an iterable body is sent in chunks.
            timeout_s: how long to wait for the answer, where that is less than the setting says.
            is_safe: whether it changes nothing at the engine, also where the method does not say so.
            meanwhile: called while the node works on the answer, again if the request has to be sent again.

        Raises:
            EngineUnreachable, EngineTimeout: with the engine's address.
            Busy: too many requests wait for each node.
            BadInput: the path leads out of the one in the settings.
            ClientLeft: nobody waits for the answer, and the request changes nothing.
        """
        is_safe = is_safe or method in _SAFE_METHODS
        read_s = min(self._timeout_s, timeout_s or self._timeout_s)
        failed: StoreUnavailable | None = None
        attempts = self._order.attempts(is_safe and (body is None or isinstance(body, bytes)))
        for place in attempts:
            try:
                response = self._nodes[place].send(
                    method, target, headers, body, n_body_bytes, read_s, is_safe, meanwhile
                )
            except _NoConnection as error:
                self._order.took_none(place)
                failed = error
            except Busy as error:
                failed = error
            except _Broken as error:
                if not attempts.repeat():
                    raise
                failed = error
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
        tls = tls_context(settings) if address.use_tls else None
        self._pool = ConnectionPool(node.host, node.port, settings.max_engine_calls, tls, CONNECT_TIMEOUT_S)

    def send(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | Iterable[bytes] | None,
        n_body_bytes: int | None,
        read_s: float,
        is_safe: bool,
        meanwhile: Callable[[], None] | None,
    ) -> Answer:
        if self._prefix and any(part in (".", "..") for part in unquote(target.split("?", 1)[0]).split("/")):
            raise BadInput("the path has a part '.' or '..'; give the path that is meant")
        try:
            with reading_call(is_safe), engine_call(method, self.shown) as call:
                if call.headers:  # the trace's go before the caller's
                    headers = [header for header in headers if header[0].lower() not in call.headers]
                    headers += call.headers.items()
                headers = [("Host", self._pool.host), *headers]
                connection = self._pool.connection(read_s)
                answer = connection.ask(method, self._prefix + target, headers, body, n_body_bytes, read_s, meanwhile)
                call.answered(answer.status)
                return answer
        except NotConnected as error:
            raise _NoConnection(
                f"no connection to the engine at {self.shown} ({_reason(error.__cause__ or error)}); is it running, "
                f"and is the setting store right?"
            ) from error
        except TimeoutError as error:
            raise EngineTimeout(
                f"the engine at {self.shown} did not answer in time; try again, or raise the setting proxy_timeout_s"
            ) from error
        except (OSError, HTTPException) as error:
            raise _Broken(
                f"the connection to the engine at {self.shown} failed ({_reason(error)}); try again, and if it fails "
                f"again look into the engine's log"
            ) from error

    def close(self) -> None:
        self._pool.close()


class Passing:
    """The body of an engine's answer, block by block and not decoded; closing it gives the connection back.

    The first block is read at once, so that an answer that breaks off there is a 502 and no broken 200. A longer answer
    raises while it is iterated.

    Raises:
        EngineUnreachable, EngineTimeout: the answer breaks off, or its next block does not come in time.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._read = self._next()

    def __iter__(self) -> Iterator[bytes]:
        return chain([self._read] if self._read else [], iter(self._next, b""))

    def close(self) -> None:
        self._answer.close()

    def _next(self) -> bytes:
        try:
            return self._answer.read_block(_BLOCK_BYTES)
        except TimeoutError as error:
            self.close()
            raise EngineTimeout(
                "the engine's answer stopped; try again, or raise the setting proxy_timeout_s"
            ) from error
        except (OSError, HTTPException) as error:
            self.close()
            raise EngineUnreachable(f"the engine's answer broke off ({_reason(error)}); try again") from error


def _reason(error: BaseException) -> str:
    """A failed connection in a few words."""
    if isinstance(error, RemoteDisconnected):
        return "it was closed without an answer"
    return getattr(error, "strerror", None) or type(error).__name__
