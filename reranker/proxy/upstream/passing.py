"""Passes a request on as it came and its answer back as it comes, block by block, so that no size fills the memory."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import regex
from flask import Response, request
from urllib3 import BaseHTTPResponse
from werkzeug.datastructures import Headers as HeaderList

from reranker.proxy.upstream.nodes import Headers, Passing, Upstream

# RFC 9110, 7.6.1: they are about one connection. The server has dealt with `Expect` before we see the request.
_HOP_BY_HOP = frozenset(
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]
)
_OURS_TO_SEND = frozenset(["host", "content-length", "expect"])

_AUTHORITY = regex.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")
# http.client refuses controls, blanks and what is not ASCII; an engine reads them from their escapes.
_TO_ESCAPE = regex.compile(r"[^\x21-\x7e]")
# What gateways and engines know callers by; `X-Opaque-Id`, which is another in each request, is not among them.
_CREDENTIALS = frozenset(
    [
        "authorization",
        "cookie",
        "es-security-runas-user",
        "opendistro_security_impersonate_as",
        "x-proxy-user",
        "x-proxy-roles",
        "x-forwarded-for",
    ]
)
_DIGEST_BYTES = 16
_salt = os.urandom(_DIGEST_BYTES)


def raw_target(environ: dict[str, Any]) -> str:
    """Path and query string as the client wrote them; `PATH_INFO` has lost the difference between `/` and `%2F`."""
    raw = str(environ.get("REQUEST_URI") or "/")
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


def without_headers(headers: Headers, *names: str) -> Headers:
    """The headers without some, which are given in lower case."""
    return [(name, value) for name, value in headers if name.lower() not in names]


def caller_key(headers: Headers) -> bytes:
    """The same for requests with the same credentials; nothing can be read from it."""
    shown = sorted(f"{name.lower()}:{value}" for name, value in headers if name.lower() in _CREDENTIALS)
    return hashlib.blake2b("\0".join(shown).encode(), digest_size=_DIGEST_BYTES, key=_salt).digest()


def _end_to_end(headers: Headers) -> Headers:
    named = {
        part.strip().lower() for name, value in headers if name.lower() == "connection" for part in value.split(",")
    }
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP | named]


def read_parameters(raw_query_string: str) -> dict[str, str]:
    """The parameters, unescaped; of several with one name the last counts, as for the engines."""
    return dict(parse_qsl(raw_query_string, keep_blank_values=True))


def without_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string without these parameters; the same text where it has none of them."""
    parts = raw_query_string.split("&") if raw_query_string else []
    kept = [part for part in parts if _name(part) not in names]
    return "&".join(kept) if len(kept) < len(parts) else raw_query_string


def only_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string with these parameters alone."""
    return "&".join(part for part in raw_query_string.split("&") if part and _name(part) in names)


def is_true(value: str | None) -> bool:
    """Whether a flag of the engine's URLs is set; one without a value is."""
    return value in ("", "true")


def _name(part: str) -> str:
    return unquote_plus(part.split("=", 1)[0])


_BLOCK_BYTES = 65_536


def pass_on(upstream: Upstream, target: str) -> Response:
    """The engine's answer to the request as it came."""
    is_chunked = request.content_length is None and "chunked" in request.headers.get("Transfer-Encoding", "").lower()
    has_body = bool(request.content_length) or is_chunked
    headers = request_headers(request.headers.items())
    return send_on(
        upstream, target, headers, blocks() if has_body else None, request.content_length if has_body else None
    )


def send_on(
    upstream: Upstream,
    target: str,
    headers: Headers,
    body: bytes | Iterable[bytes] | None,
    n_bytes: int | None,
    is_safe: bool = False,
) -> Response:
    """The engine's answer to the request's method with another target, header or body, streamed as it comes."""
    answer = upstream.send(request.method, target, headers, body, n_bytes, is_safe=is_safe)
    return streamed(answer)


def streamed(answer: BaseHTTPResponse) -> Response:
    """An engine's answer as it comes, its reason phrase too."""
    response = Response(Passing(answer), f"{answer.status} {answer.reason or ''}", direct_passthrough=True)
    response.headers = HeaderList(response_headers(answer))
    return response


def compressed(answer: BaseHTTPResponse, level: int) -> Response:
    """An engine's answer as it comes, compressed by gzip on the way unless it is already compressed."""
    response = streamed(answer)
    if "Content-Encoding" not in response.headers:
        response.response = _Gzip(Passing(answer), level)
        response.headers["Content-Encoding"] = "gzip"
        response.headers.pop("Content-Length", None)
    return response


class _Gzip:
    """An answer's body compressed block by block; closing it gives the connection back."""

    def __init__(self, blocks: Passing, level: int) -> None:
        self._blocks = blocks
        self._level = level

    def __iter__(self) -> Iterator[bytes]:
        packer = zlib.compressobj(self._level, wbits=16 + zlib.MAX_WBITS)
        for block in self._blocks:
            if packed := packer.compress(block):
                yield packed
        yield packer.flush()

    def close(self) -> None:
        self._blocks.close()


def read_ahead(limit: int) -> tuple[bytes, Iterable[bytes] | None]:
    """The body, and None; or its beginning and the rest where it is larger than the limit."""
    if request.content_length is not None and request.content_length > limit:
        return b"", blocks()
    start = request.stream.read(limit + 1)
    return start, None if len(start) <= limit else blocks()


def blocks() -> Iterator[bytes]:
    """The rest of the body; a length over the limit is refused here and now, before anything is sent on."""
    stream = request.stream
    return iter(lambda: stream.read(_BLOCK_BYTES), b"")
