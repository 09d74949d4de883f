"""Reads the request that is answered, as the client wrote it: target, parameters, headers, body, caller."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any
from urllib.parse import parse_qsl, quote, unquote_plus

import regex
from werkzeug.wsgi import get_content_length, get_input_stream

from reranker.upstream.connections import Headers

# RFC 9110, 7.6.1 and 11.7.1: they are about one connection. The server has dealt with `Expect` before we see the
# request, and it takes no answer with one of them (`Trailers` is its own).
_HOP_BY_HOP = frozenset(
    [
        *("connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "trailers"),
        *("transfer-encoding", "upgrade"),
    ]
)
_OF_ANOTHER_BODY = ("accept", "accept-encoding", "content-type", "content-encoding")
# They are about the client's connection, or sent by us.
_NOT_PASSED_ON = _HOP_BY_HOP | {"host", "content-length", "expect"}

_AUTHORITY = regex.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")
IMPERSONATION = ("opendistro_security_impersonate_as", "es-security-runas-user")
"""Headers by which a caller takes the rights of another user."""

# Headers that differ between requests of one caller, or say nothing of him: of the body, the browser and its page; ids
# and traces. Any other may be what gateways and engines know callers by: OpenSearch reads tokens, users, roles and
# attributes from those that its configuration names.
_OF_ONE_REQUEST = regex.compile(
    r"accept(-.+)?|content-.+|if-.+|sec-.+|cache-control|date|dnt|origin|pragma|priority|range|referer|user-agent"
    r"|(.+-)?(request|correlation|trace|span|transaction)-?id|(x-)?unique-id|x-opaque-id|x-request-start"
    r"|request-context|(elastic-apm-)?traceparent|tracestate|baggage|b3|(x-b3|x-datadog)-.+|sentry-trace|newrelic"
    r"|x-cloud-trace-context|cf-ray|x-amz-cf-id|x-arr-log-id|x-azure-ref|x-varnish"
    r"|x-envoy-(attempt-count|original-path)|x-(dynatrace|instana|newrelic)(-.+)?|x-dtpc|singularityheader|sw8(-.+)?"
    r"|x-ot-span-context|grpc-trace-bin|x-queue-start|connect-time|total-route-time|x-timer|x-client-port"
    r"|idempotency-key"
)
# Letters of a name that is compared with these; one has any length.
_LONGEST_NAME = 64
_DIGEST_BYTES = 16
_salt = os.urandom(_DIGEST_BYTES)
_BLOCK_BYTES = 65_536


@dataclass(slots=True)
class Incoming:
    """A request for the engine as it came.

    Attributes:
        environ: of WSGI.
        path, query_string: raw.
        has_query: whether the target had a `?`.
        headers: end-to-end ones.
        stream: the body; beyond the limit of what is passed on it raises RequestEntityTooLarge.
        n_body_bytes: None where the length is not known.
        content_type: None where it is missing.
        body, parameters, caller: of a search, as `read_search` reads them: the parameters of the query string are
            unescaped, and the caller is known by the credentials (`caller_key`); those in the URL are added when the
            search is read.
    """

    environ: dict[str, Any]
    method: str
    path: str
    has_query: bool
    query_string: str
    headers: Headers
    stream: IO[bytes]
    n_body_bytes: int | None
    content_type: str | None
    body: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict)
    caller: bytes = b""

    @classmethod
    def read(cls, environ: dict[str, Any], target: str, limit: int) -> Incoming:
        """
        Args:
            target: path and query string (`raw_target`).
            limit: of the body, in bytes.

        Raises:
            RequestEntityTooLarge: the body says that it is larger.
        """
        path, sign, query_string = target.partition("?")
        headers = read_headers(environ)
        if _is_of_own_page(environ):
            headers = end_to_end(headers, "origin")
        if "HTTP_CONNECTION" in environ:
            headers = end_to_end([*headers, ("Connection", environ["HTTP_CONNECTION"])])
        has_body = "CONTENT_LENGTH" in environ or "HTTP_TRANSFER_ENCODING" in environ
        return cls(
            environ,
            environ["REQUEST_METHOD"],
            path,
            bool(sign),
            query_string,
            headers,
            get_input_stream(environ, max_content_length=limit) if has_body else BytesIO(),
            get_content_length(environ) if has_body else None,
            environ.get("CONTENT_TYPE"),
        )

    @classmethod
    def of_search(cls, index: str, body: Mapping[str, Any], headers: Headers) -> Incoming:
        """A search of an index, or of its body's point in time, that nobody has sent, with the headers of whoever it is
        made for."""
        data = json.dumps(body).encode()
        remaining = end_to_end(headers, *_OF_ANOTHER_BODY)
        return cls(
            environ={},
            method="POST",
            path="/_search" if "pit" in body else f"/{quote(index, safe='')}/_search",
            has_query=False,
            query_string="",
            headers=[*remaining, ("Content-Type", "application/json")],
            stream=BytesIO(data),
            n_body_bytes=len(data),
            content_type="application/json",
            body=data,
            caller=caller_key(headers),
        )

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query_string}" if self.has_query else self.path

    def read_search(self, limit: int) -> Iterable[bytes] | None:
        """Reads what a search has besides.

        Args:
            limit: of the body, in bytes.

        Returns:
            the rest of a larger body, of which the beginning is read; None where it is whole.
        """
        self.caller = caller_key(self.headers)
        if self.query_string:
            self.parameters = read_parameters(self.query_string)
        is_large = self.n_body_bytes is not None and self.n_body_bytes > limit
        self.body = b"" if is_large else self.stream.read(limit + 1)
        return self.blocks() if is_large or len(self.body) > limit else None

    def blocks(self) -> Iterator[bytes]:
        """The rest of the body."""
        return iter(lambda: self.stream.read(_BLOCK_BYTES), b"")


def read_headers(environ: Mapping[str, Any]) -> Headers:
    """The headers, without those that are always about the client's connection. The server keeps those with an
    underscore apart, since WSGI has one name for `a_b` and `a-b`."""
    headers = [(name, value) for key, value in environ.items() if (name := _header_name(key)) is not None]
    return [*headers, *environ.get("sinkrank.underscored", {}).items()]


def _is_of_own_page(environ: Mapping[str, Any]) -> bool:
    """Whether the request comes from a page at the address that it was sent to. The engine compares `Origin` with its
    own address, and would take the page for one of another origin."""
    authority = environ.get("HTTP_ORIGIN", "").partition("://")[2]
    return bool(authority) and authority.lower() == environ.get("HTTP_HOST", "").strip().lower()


def raw_target(environ: dict[str, Any]) -> str:
    """Path and query string as the client wrote them; `PATH_INFO` has lost the difference between `/` and `%2F`. The
    server has escaped what is not ASCII."""
    raw = str(environ.get("REQUEST_URI") or "/")
    # A client that takes us for a forward proxy names a host, which is not its to choose.
    target = _AUTHORITY.sub("", raw, count=1) if not raw.startswith("/") else raw
    target = target.split("#", 1)[0]
    return target if target.startswith("/") else f"/{target}"


def _header_name(key: str) -> str | None:
    """The name of a header by its key of WSGI; None where it is none, or is not passed on."""
    if key == "CONTENT_TYPE":
        return "Content-Type"
    if not key.startswith("HTTP_"):
        return None
    name = key[5:].replace("_", "-").title()
    return None if name.lower() in _NOT_PASSED_ON else name


def end_to_end(headers: Headers, *others: str) -> Headers:
    """The headers of a message without those of its connection and some others, which are given in lower case."""
    dropped = {*_HOP_BY_HOP, *others}
    for name, value in headers:
        if name.lower() == "connection":
            dropped.update(part.strip().lower() for part in value.split(","))
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def caller_key(headers: Headers) -> bytes:
    """The same for requests with the same credentials; nothing can be read from it."""
    found = sorted(f"{name.lower()}:{value}" for name, value in headers if not _is_of_one_request(name.lower()))
    return hashlib.blake2b(repr(found).encode(), digest_size=_DIGEST_BYTES, key=_salt).digest()


def _is_of_one_request(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and _OF_ONE_REQUEST.fullmatch(name.replace("_", "-")) is not None


def read_parameters(raw_query_string: str) -> dict[str, str]:
    """The parameters, unescaped; of several with one name the last counts, as for the engines."""
    return dict(parse_qsl(raw_query_string.replace(";", "&"), keep_blank_values=True))


def without_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string without these parameters; the same text where it has none of them."""
    parts = raw_query_string.replace(";", "&").split("&")  # engines take one for the other
    remaining = [part for part in parts if unquote_plus(part.split("=", 1)[0]) not in names]
    return "&".join(remaining) if len(remaining) < len(parts) else raw_query_string


def only_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string with these parameters alone."""
    parts = raw_query_string.replace(";", "&").split("&")
    return "&".join(part for part in parts if unquote_plus(part.split("=", 1)[0]) in names)


def is_true(value: str | None) -> bool:
    """Whether a flag of the engine's URLs is set; one without a value is."""
    return value in ("", "true")
