"""Passes a request on as it came and its answer back as it comes, block by block, so that no size fills the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Response, request
from werkzeug.datastructures import Headers as HeaderList

from reranker.proxy.upstream.connections import Answer, Headers
from reranker.proxy.upstream.incoming import blocks, end_to_end, request_headers
from reranker.proxy.upstream.nodes import Passing, Upstream


def pass_on(upstream: Upstream, target: str) -> Response:
    """The engine's answer to the request as it came."""
    is_chunked = request.content_length is None and "chunked" in request.headers.get("Transfer-Encoding", "").lower()
    has_body = bool(request.content_length) or is_chunked
    body, n_bytes = (blocks(), request.content_length) if has_body else (None, None)
    return send_on(upstream, target, request_headers(), body, n_bytes)


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


def streamed(answer: Answer) -> Response:
    """An engine's answer as it comes, its reason phrase too."""
    response = Response(Passing(answer), f"{answer.status} {answer.reason}", direct_passthrough=True)
    response.headers = HeaderList(end_to_end(answer.headers))
    return response


# The engines' own level. Like them, answers of any length are compressed.
_COMPRESSION_LEVEL = 3
# Of the forms that both engines write, the one that they prefer first.
_WBITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


def compressed(response: Response) -> Response:
    """An answer in the compressed form that the caller takes; as it is where he takes none, or it has one already."""
    taken = request.accept_encodings
    encoding = max(_WBITS, key=lambda name: taken[name])
    if not taken[encoding] or "Content-Encoding" in response.headers:
        return response
    response.headers["Content-Encoding"] = encoding
    packer = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_WBITS[encoding])
    if isinstance(response.response, Passing):
        response.response = _Packed(response.response, packer)
        response.headers.pop("Content-Length", None)
    else:
        response.set_data(packer.compress(response.get_data()) + packer.flush())
    return response


class _Packed:
    """An answer's body compressed block by block; closing it gives the connection back."""

    def __init__(self, blocks: Passing, packer: Any) -> None:
        self._blocks = blocks
        self._packer = packer

    def __iter__(self) -> Iterator[bytes]:
        packer = self._packer
        for block in self._blocks:
            if packed := packer.compress(block):
                yield packed
        yield packer.flush()

    def close(self) -> None:
        self._blocks.close()
