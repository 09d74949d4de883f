"""Passes requests on to the one engine of the settings, byte for byte; no other module of the proxy opens connections.

Host, port and TLS come from the settings alone. A request gives the path below them, and is sent with its own
credentials or none: the service's password is not lent to callers.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import regex
import urllib3
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError
from urllib3.util import SKIP_HEADER

from reranker.errors import BadInput, StoreUnavailable
from reranker.settings import Settings
from reranker.stores.addresses import EngineAddress

Headers = list[tuple[str, str]]

# A host that answers at all takes a connection within this.
CONNECT_TIMEOUT_S = 5.0
_BLOCK_BYTES = 65_536

# RFC 9110, 7.6.1: they are about one connection. The server has dealt with `Expect` before we see the request.
_HOP_BY_HOP = frozenset(
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]
)
_OURS_TO_SEND = frozenset(["host", "content-length", "expect"])
# What urllib3 would add of its own.
_NOT_TO_ADD = ("accept-encoding", "user-agent")

_AUTHORITY = regex.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")
# http.client refuses controls, blanks and what is not ASCII; an engine reads them from their escapes.
_TO_ESCAPE = regex.compile(r"[^\x21-\x7e]")


class EngineUnreachable(StoreUnavailable):
    """No connection, or one that broke."""

    http_status = 502
    code = "engine_unreachable"


class EngineTimeout(StoreUnavailable):
    """A connection, but no answer in time."""

    http_status = 504
    code = "engine_timeout"


class Upstream:
    """The engine behind the proxy; connections are pooled, and threads may share it."""

    def __init__(self, address: EngineAddress, settings: Settings) -> None:
        self.shown = address.shown
        self._prefix = address.prefix
        timeout = urllib3.Timeout(
            connect=min(CONNECT_TIMEOUT_S, settings.proxy_timeout_s), read=settings.proxy_timeout_s
        )
        common: dict[str, Any] = {"timeout": timeout, "maxsize": settings.workers, "retries": False}
        self._pool: HTTPConnectionPool
        if address.use_tls:
            self._pool = _TlsPool(address.host, address.port, ssl_context=_tls(settings), **common)
        else:
            self._pool = _Pool(address.host, address.port, **common)

    def send(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes | Iterable[bytes] | None = None,
        n_body_bytes: int | None = None,
    ) -> BaseHTTPResponse:
        """Sends a request; the answer's body is still to be read, and its connection to be given back (`Passing`).

        Args:
            target: path and query string as they came, percent-encoding and all (`raw_target`).
            headers: end-to-end ones (`request_headers`).
            n_body_bytes: where it is None, an iterable body is sent in chunks.

        Raises:
            EngineUnreachable, EngineTimeout: with the engine's address.
            BadInput: the path leads out of the one in the settings.
        """
        sent = urllib3.HTTPHeaderDict(headers)
        for name in _NOT_TO_ADD:
            if name not in sent:
                sent[name] = SKIP_HEADER
        if n_body_bytes is not None:
            sent["Content-Length"] = str(n_body_bytes)
        try:
            return self._pool.urlopen(
                method,
                _wrapped(self._below(target)),
                body,
                sent,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise EngineUnreachable(
                f"no connection to the engine at {self.shown} ({_reason(error)}); is it running, and is the "
                f"setting store right?"
            ) from error
        except ReadTimeoutError as error:
            raise EngineTimeout(
                f"the engine at {self.shown} did not answer in time; try again, or raise the setting proxy_timeout_s"
            ) from error
        except HTTPError as error:
            raise EngineUnreachable(
                f"the connection to the engine at {self.shown} failed ({_reason(error)}); try again"
            ) from error

    def close(self) -> None:
        self._pool.close()

    def _below(self, target: str) -> str:
        if self._prefix and any(part in (".", "..") for part in unquote(target.split("?", 1)[0]).split("/")):
            raise BadInput("the path has a part '.' or '..'; give the path that is meant")
        return self._prefix + target


class Passing:
    """The body of an engine's answer, block by block and not decoded; closing it gives the connection back."""

    def __init__(self, response: BaseHTTPResponse) -> None:
        self._response = response
        self._is_whole = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._response.stream(_BLOCK_BYTES, decode_content=False)
        self._is_whole = True

    def close(self) -> None:
        if self._is_whole:
            self._response.release_conn()
        else:
            self._response.close()


def raw_target(environ: dict[str, Any]) -> str:
    """Path and query string as the client wrote them; `PATH_INFO` has lost the difference between `/` and `%2F`.

    waitress and werkzeug give `REQUEST_URI`, gunicorn `RAW_URI`.
    """
    raw = str(environ.get("REQUEST_URI") or environ.get("RAW_URI") or "/")
    # A client that takes us for a forward proxy names a host, which is not its to choose.
    target = _AUTHORITY.sub("", raw, count=1) if not raw.startswith("/") else raw
    target = target.split("#", 1)[0]
    target = target if target.startswith("/") else f"/{target}"
    return str(
        _TO_ESCAPE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode("latin-1")), target)
    )


def request_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """A client's headers without those of its connection."""
    return [(name, value) for name, value in _end_to_end(list(headers)) if name.lower() not in _OURS_TO_SEND]


def response_headers(response: BaseHTTPResponse) -> Headers:
    """An engine's headers without those of its connection, repeated ones repeated."""
    return _end_to_end(list(response.headers.iteritems()))


def _end_to_end(headers: Headers) -> Headers:
    named = {
        part.strip().lower() for name, value in headers if name.lower() == "connection" for part in value.split(",")
    }
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP | named]


def _tls(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context(
        cafile=None if settings.store_ca_certs is None else str(settings.store_ca_certs)
    )
    if not settings.store_verify_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reason(error: Exception) -> str:
    """The innermost cause in a few words; urllib3's own texts name addresses and objects."""
    inner: BaseException = error
    while (cause := inner.__cause__ or inner.__context__) is not None:
        inner = cause
    return getattr(inner, "strerror", None) or type(inner).__name__


def _wrapped(target: str) -> str:
    return f"/{target.encode('ascii').hex()}"


class _RawTarget:
    """Sends the request target as it is: urllib3 would write the case of escapes and a lone `%` anew, so it is given
    the target in hexadecimal, which it leaves alone, and which is read back here."""

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        target = bytes.fromhex(url.removeprefix("/")).decode("ascii")
        super().putrequest(method, target, *args, **kwargs)  # type: ignore[misc]


class _Connection(_RawTarget, HTTPConnection):
    pass


class _TlsConnection(_RawTarget, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection
