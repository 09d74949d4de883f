"""Passes a request on as it came and its answer back as it comes, block by block, so that no size fills the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from werkzeug.http import parse_accept_header

from reranker.upstream.connections import EngineResponse, Headers
from reranker.upstream.incoming import Incoming, end_to_end
from reranker.upstream.nodes import Passing, Upstream


@dataclass(slots=True)
class Reply:
    """An answer for the client.

    Attributes:
        status: code and reason phrase.
        body: in blocks; it is closed where it has a `close`.
    """

    status: str
    headers: Headers
    body: Iterable[bytes]


def pass_on(upstream: Upstream, incoming: Incoming) -> Reply:
    """The engine's answer to the request as it came."""
    coding = incoming.environ.get("HTTP_TRANSFER_ENCODING", "")
    is_chunked = incoming.n_body_bytes is None and "chunked" in coding.lower()
    body = incoming.blocks() if incoming.n_body_bytes or is_chunked else None
    n_bytes = incoming.n_body_bytes or None
    return streamed(upstream.send(incoming.method, incoming.target, incoming.headers, body, n_bytes))


def streamed(answer: EngineResponse) -> Reply:
    """An engine's answer as it comes, its reason phrase too."""
    return Reply(answer.status_line, end_to_end(answer.headers), Passing(answer))


# The engines' own level. Like them, answers of any length are compressed.
_COMPRESSION_LEVEL = 3
# Of the forms that both engines write, the one that they prefer first.
_WBITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


def own_reply(incoming: Incoming, answer_headers: Headers, body: bytes, status: str = "200 OK") -> Reply:
    """An answer whose body we have read or written, compressed as the engine would have where the caller takes it."""
    headers = end_to_end(answer_headers, "content-length", "content-encoding")
    encoding = _encoding(incoming.environ.get("HTTP_ACCEPT_ENCODING", ""))
    if encoding is None:
        return Reply(status, [*headers, ("Content-Length", str(len(body)))], [body])
    packer = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_WBITS[encoding])
    body = packer.compress(body) + packer.flush()
    return Reply(status, [*headers, ("Content-Length", str(len(body))), ("Content-Encoding", encoding)], [body])


@lru_cache(maxsize=100)
def _encoding(taken: str) -> str | None:
    """The form that a client takes by its `Accept-Encoding`; None where it takes none."""
    accepted = parse_accept_header(taken)
    encoding = max(_WBITS, key=lambda name: accepted[name])
    return encoding if accepted[encoding] else None
