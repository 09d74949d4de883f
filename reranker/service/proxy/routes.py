"""The proxy: an engine's own API at our address, with the hits of its searches re-ranked.

`POST` and `GET` of `/_search` and `/{index}/_search` are re-ranked where they hold a query text; every other path and
method goes to the engine and back unchanged. Callers use their own credentials: the service's are not lent to them.
Re-ranking that fails never fails a search: the engine's own answer is passed on, marked `X-Rerank-Status: fallback`,
counted, and logged in one line.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from urllib.parse import unquote

from flask import Flask, Response, current_app, g, redirect, request
from werkzeug.datastructures import Headers as HeaderList
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.wrappers import Response as AnyResponse

from reranker.errors import NotFound
from reranker.service.errors import use_shape
from reranker.service.proxy.hit_ranking import HitRanker
from reranker.service.proxy.search import Answer, Fallback, Incoming, ProxySearcher
from reranker.service.proxy.search_request import Skip, read_search, without_ours
from reranker.service.proxy.upstream import Headers, Passing, Upstream, raw_target, request_headers, response_headers
from reranker.service.service import EXTENSION, Service, current_service
from reranker.settings import Settings
from reranker.stores.addresses import EngineAddress, read_address

PROXY_EXTENSION = "sinkrank-proxy"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")
# First parts of a path that are ours; index names cannot begin with `-`.
RESERVED = frozenset(["v1", "v2", "rerank", "-"])
_ENDPOINT = "engine"
_BLOCK_BYTES = 65_536

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proxy:
    """What the proxy's route uses.

    Attributes:
        counts: searches by (status, reason), since the start.
    """

    upstream: Upstream
    searcher: ProxySearcher
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, status: str, reason: str) -> None:
        with self._lock:
            self.counts[status, reason] += 1


def register(app: Flask, settings: Settings) -> None:
    """Adds the proxy's routes: in front of an engine, or as sentences that say how to have one."""
    address = read_address(settings.store_address)
    if isinstance(address, EngineAddress):
        service: Service = app.extensions[EXTENSION]
        upstream = Upstream(address, settings)
        app.extensions[PROXY_EXTENSION] = Proxy(upstream, ProxySearcher(upstream, HitRanker(service), settings))
        app.add_url_rule("/", _ENDPOINT, to_engine, methods=METHODS, provide_automatic_options=False)
        view = to_engine
    else:
        app.add_url_rule("/", "root", _to_page, methods=["GET"])
        view = no_engine
    app.add_url_rule("/<path:path>", _ENDPOINT, view, methods=METHODS, provide_automatic_options=False)


def to_engine(path: str = "") -> Response:
    """Any path that is not ours."""
    target = raw_target(request.environ)
    raw_path, _, query_string = target.partition("?")
    parts = raw_path.rstrip("/").split("/")[1:]
    _check_not_ours(parts)
    use_shape("engine")
    g.passed_on = True
    settings = current_service().settings
    request.max_content_length = settings.proxy_max_body_bytes
    if request.method in ("GET", "POST") and parts[-1:] == ["_search"] and len(parts) <= 2 and parts[0]:
        return _search(raw_path, query_string)
    body, n_bytes = _body()
    return _pass_on(target, request_headers(request.headers.items()), body, n_bytes)


def no_engine(path: str = "") -> Response:
    """In place of an engine's paths where there is no engine.

    Raises:
        NotFound: with the setting that would bring one.
    """
    _check_not_ours(request.path.split("/")[1:])
    raise NotFound(
        f"there is no {request.path} here. Paths of a search engine are passed on where the setting store is the "
        f"address of one: `sinkrank serve --store opensearch://HOST:9200`"
    )


def _to_page() -> AnyResponse:
    return redirect("/-/ui")


def _search(raw_path: str, query_string: str) -> Response:
    """A search: re-ranked where that can be, else passed on, marked with the reason."""
    proxy: Proxy = current_app.extensions[PROXY_EXTENSION]
    limit = current_service().settings.max_body_bytes
    start, rest = _read_ahead(limit)
    headers = request_headers(request.headers.items())
    incoming = Incoming(request.method, raw_path, query_string, headers, start)
    try:
        if rest is not None:
            raise Skip("body_too_large")
        search = read_search(current_service(), query_string, _decoded(start, limit))
        try:
            answer = proxy.searcher.run(incoming, search)
        except Fallback as failed:
            message = " ".join(str(failed).split())  # one line, whatever is in it
            _log.warning("search %s is not re-ranked (%s): %s", raw_path, failed.reason, message)
            return _unranked(proxy, incoming, "fallback", failed.reason, search.body_without_ours)
    except Skip as skip:
        return _unranked(proxy, incoming, "skipped", skip.reason, skip.body, rest)
    proxy.count("applied", "")
    return _ranked(answer)


def _ranked(answer: Answer) -> Response:
    response = Response(answer.body)
    dropped = ("content-length", "content-encoding")
    response.headers = HeaderList([(name, value) for name, value in answer.headers if name.lower() not in dropped])
    response.headers["Content-Length"] = str(len(answer.body))
    response.headers["X-Rerank-Status"] = "applied"
    response.headers.add("Server-Timing", f"engine;dur={answer.engine_ms:.1f}, rerank;dur={answer.rerank_ms:.1f}")
    return response


def _unranked(
    proxy: Proxy,
    incoming: Incoming,
    status: str,
    reason: str,
    new_body: bytes | None,
    rest: Iterable[bytes] | None = None,
) -> Response:
    """The engine's own answer; `new_body` stands in for the caller's where our section had to be taken out of it."""
    proxy.count(status, reason)
    query_string = without_ours(incoming.query_string)
    was_asked = "?" in raw_target(request.environ)
    target = f"{incoming.path}?{query_string}" if query_string or was_asked else incoming.path
    headers = incoming.headers
    if new_body is not None:
        headers = [(name, value) for name, value in headers if name.lower() != "content-encoding"]
    body = incoming.body if new_body is None else new_body
    if rest is not None:
        response = _pass_on(target, headers, chain([body], rest), request.content_length)
    else:
        response = _pass_on(target, headers, body or None, len(body) or None)
    response.headers["X-Rerank-Status"] = status
    response.headers["X-Rerank-Reason"] = reason
    return response


def _pass_on(target: str, headers: Headers, body: bytes | Iterable[bytes] | None, n_bytes: int | None) -> Response:
    """The engine's answer, streamed as it comes."""
    proxy: Proxy = current_app.extensions[PROXY_EXTENSION]
    answer = proxy.upstream.send(request.method, target, headers, body, n_bytes)
    response = Response(Passing(answer), answer.status, direct_passthrough=True)
    response.headers = HeaderList(response_headers(answer))
    return response


def _body() -> tuple[Iterable[bytes] | None, int | None]:
    """The request's body and its length: no body, a known length, or chunks."""
    is_chunked = request.content_length is None and "chunked" in request.headers.get("Transfer-Encoding", "").lower()
    if not request.content_length and not is_chunked:
        return None, None
    return _blocks(), request.content_length


def _read_ahead(limit: int) -> tuple[bytes, Iterable[bytes] | None]:
    """The body, and None; or its beginning and the rest where it is larger than the limit."""
    if request.content_length is not None and request.content_length > limit:
        return b"", _blocks()
    start = request.stream.read(limit + 1)
    return start, None if len(start) <= limit else _blocks()


def _blocks() -> Iterator[bytes]:
    """The rest of the body; a length over the limit is refused here and now, before anything is sent on."""
    stream = request.stream
    return iter(lambda: stream.read(_BLOCK_BYTES), b"")


def _decoded(body: bytes, limit: int) -> bytes:
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


def _check_not_ours(parts: list[str]) -> None:
    """Keeps what is meant for the service away from the engine.

    Raises:
        MethodNotAllowed: the path is ours, and takes other methods.
        NotFound: the path begins like ours.
    """
    if not parts or unquote(parts[0]) not in RESERVED:
        return
    routes = current_app.url_map.bind("")
    allowed = [method for method in METHODS if _is_ours(routes.match(request.path, method)[0])]
    if allowed:
        raise MethodNotAllowed(valid_methods=allowed)
    raise NotFound(f"there is no {request.path} here; what begins with /{parts[0]} is the service's own")


def _is_ours(endpoint: str) -> bool:
    return endpoint != _ENDPOINT
