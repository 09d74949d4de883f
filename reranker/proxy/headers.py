"""What a proxy passes on of a request and an answer: the target as it was written, and the end-to-end headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import regex
from urllib3 import BaseHTTPResponse

Headers = list[tuple[str, str]]

# RFC 9110, 7.6.1: they are about one connection. The server has dealt with `Expect` before we see the request.
_HOP_BY_HOP = frozenset(
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]
)
_OURS_TO_SEND = frozenset(["host", "content-length", "expect"])

_AUTHORITY = regex.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")
# http.client refuses controls, blanks and what is not ASCII; an engine reads them from their escapes.
_TO_ESCAPE = regex.compile(r"[^\x21-\x7e]")


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


def without_headers(headers: Headers, *names: str) -> Headers:
    """The headers without some, which are given in lower case."""
    return [(name, value) for name, value in headers if name.lower() not in names]


def _end_to_end(headers: Headers) -> Headers:
    named = {
        part.strip().lower() for name, value in headers if name.lower() == "connection" for part in value.split(",")
    }
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP | named]
