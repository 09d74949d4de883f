"""Passes a request on as it came and its answer back as it comes, block by block, so that no size fills the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from flask import Response, request
from urllib3 import BaseHTTPResponse
from werkzeug.datastructures import Headers as HeaderList

from reranker.proxy.headers import Headers, request_headers, response_headers
from reranker.proxy.rules import Skip
from reranker.proxy.upstream import Passing, Upstream

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


def decoded(body: bytes, limit: int) -> bytes:
    """The body without its compression.

    Raises:
        Skip: it is compressed in a way that we cannot read, or larger than the limit.
    """
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise Skip("body_encoding")
    try:
        plain = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(body, limit + 1)
    except zlib.error:
        raise Skip("body_encoding") from None  # the engine says what is wrong with it
    if len(plain) > limit:
        raise Skip("body_too_large")
    return plain
