"""Reads the request that is answered, as the client wrote it: target, parameters, headers, body, caller."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import regex
from flask import request

from reranker.proxy.upstream.connections import Headers

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
_BLOCK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Incoming:
    """A search as it came: raw path and query string, end-to-end headers.

    Attributes:
        content_type, accept, content_encoding: of the headers; None where they are missing.
        has_query: whether the target had a `?`.
        parameters: of the query string, unescaped.
        caller: known by the credentials (`caller_key`).
    """

    method: str
    path: str
    has_query: bool
    query_string: str
    parameters: Mapping[str, str]
    headers: Headers
    content_type: str | None
    accept: str | None
    content_encoding: str | None
    body: bytes
    caller: bytes


def read_incoming(target: str, limit: int) -> tuple[Incoming, Iterable[bytes] | None]:
    """The request that is answered, and None; or it with the beginning of its body, and the rest where the body is
    larger than the limit.

    Args:
        target: path and query string (`raw_target`).
        limit: in bytes.
    """
    is_large = request.content_length is not None and request.content_length > limit
    body = b"" if is_large else request.stream.read(limit + 1)
    path, sign, query_string = target.partition("?")
    headers = request_headers()
    incoming = Incoming(
        request.method,
        path,
        bool(sign),
        query_string,
        read_parameters(query_string) if query_string else {},
        headers,
        request.environ.get("CONTENT_TYPE"),
        request.headers.get("Accept"),
        request.headers.get("Content-Encoding"),
        body,
        caller_key(headers),
    )
    return incoming, blocks() if is_large or len(body) > limit else None


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


def request_headers() -> Headers:
    """The client's headers without those of its connection."""
    headers = list(request.headers.items())
    if request.environ.get("CONTENT_TYPE") == "":  # Werkzeug leaves it out, and the engines refuse it
        headers.append(("Content-Type", ""))
    return end_to_end(headers, *_OURS_TO_SEND)


def end_to_end(headers: Headers, *others: str) -> Headers:
    """The headers of a message without those of its connection and some others, which are given in lower case."""
    dropped = {*_HOP_BY_HOP, *others}
    for name, value in headers:
        if name.lower() == "connection":
            dropped.update(part.strip().lower() for part in value.split(","))
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def caller_key(headers: Headers) -> bytes:
    """The same for requests with the same credentials; nothing can be read from it."""
    shown = sorted(f"{name.lower()}:{value}" for name, value in headers if name.lower() in _CREDENTIALS)
    return hashlib.blake2b("\0".join(shown).encode(), digest_size=_DIGEST_BYTES, key=_salt).digest()


def read_parameters(raw_query_string: str) -> dict[str, str]:
    """The parameters, unescaped; of several with one name the last counts, as for the engines."""
    return dict(parse_qsl(raw_query_string.replace(";", "&"), keep_blank_values=True))


def without_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string without these parameters; the same text where it has none of them."""
    parts = raw_query_string.replace(";", "&").split("&")  # engines take one for the other
    kept = [part for part in parts if unquote_plus(part.split("=", 1)[0]) not in names]
    return "&".join(kept) if len(kept) < len(parts) else raw_query_string


def only_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string with these parameters alone."""
    parts = raw_query_string.replace(";", "&").split("&")
    return "&".join(part for part in parts if unquote_plus(part.split("=", 1)[0]) in names)


def is_true(value: str | None) -> bool:
    """Whether a flag of the engine's URLs is set; one without a value is."""
    return value in ("", "true")


def blocks() -> Iterator[bytes]:
    """The rest of the body; a length over the limit is refused here and now, before anything is sent on."""
    stream = request.stream
    return iter(lambda: stream.read(_BLOCK_BYTES), b"")
