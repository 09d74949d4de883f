"""The proxy's routes: searches are re-ranked, every other path and method goes to the engine and back unchanged.

`POST` and `GET` of `/_search`, `/{index}/_search`, `/_msearch` and `/{index}/_msearch` are re-ranked where they hold a
query text. Callers use their own credentials: the service's are not lent to them. Re-ranking that fails never fails a
search: the engine's own answer is passed on, marked `X-Rerank-Status: fallback`, counted, and logged in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from flask import Flask, Response, current_app, redirect, request
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.routing import PathConverter
from werkzeug.wrappers import Response as AnyResponse

from reranker.base.errors import NotFound
from reranker.proxy.interleave import Interleaver
from reranker.proxy.proxy import Proxy
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from reranker.traffic.file import TrafficFile
from reranker.upstream.addresses import EngineAddress, read_address
from reranker.upstream.incoming import Incoming

PROXY_EXTENSION = "sinkrank-proxy"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")
# First parts of a path that are ours; index names cannot begin with `-`.
RESERVED = frozenset(["v1", "v2", "rerank", "-"])
# How metrics and logs tell what is passed on from what has nowhere to go.
ENDPOINT, _NO_ENGINE = "engine", "no_engine"


class _AnyPath(PathConverter):
    """As `path`, with line breaks too: a document's id may hold `%0A`."""

    regex = r"[^/](?s:.)*?"


def register(app: Flask, settings: Settings, shadow: Callable[[Incoming], None] | None) -> None:
    """Adds the proxy's routes: in front of an engine, or as sentences that say how to have one.

    Args:
        shadow: as of `Proxy`.
    """
    address = read_address(settings.store_address)
    if isinstance(address, EngineAddress):
        interleaver = None
        if settings.proxy_mode == "interleave":
            file = TrafficFile(settings.home)
            file.create()
            interleaver = Interleaver(file)
        app.extensions[PROXY_EXTENSION] = Proxy(
            app.extensions[EXTENSION], address, shadow=shadow, interleaver=interleaver
        )
        app.add_url_rule("/", ENDPOINT, to_engine, methods=METHODS)
        endpoint, view = ENDPOINT, to_engine
    else:
        app.add_url_rule("/", "root", _to_page, methods=["GET"])
        endpoint, view = _NO_ENGINE, no_engine
    app.url_map.converters["any_path"] = _AnyPath
    app.add_url_rule("/<any_path:path>", endpoint, view, methods=METHODS)


def is_for_proxy(method: str, target: str) -> bool:
    """Whether a request is answered by the proxy: its path is none of ours, and one that engines have.

    Args:
        target: path and query string (`raw_target`).
    """
    first = unquote(target.partition("?")[0]).lstrip("/").partition("/")[0]  # as Flask reads it
    return method in METHODS and first not in RESERVED


def to_engine(path: str = "") -> Response:
    """A path that no other route has, and that is not for the proxy (`is_for_proxy`).

    Raises:
        NotFound, MethodNotAllowed: always.
    """
    raise _no_route(request.path.lstrip("/").partition("/")[0])


def no_engine(path: str = "") -> Response:
    """In place of an engine's paths where there is no engine.

    Raises:
        NotFound: with the setting that would bring one.
    """
    first = request.path.split("/")[1]
    if unquote(first) in RESERVED:
        raise _no_route(first)
    raise NotFound(
        f"there is no {request.path} here. Paths of a search engine are passed on where the setting store is the "
        f"address of one: `sinkrank serve --store opensearch://HOST:9200`"
    )


def _to_page() -> AnyResponse:
    return redirect("/-/ui")


def _no_route(first: str) -> MethodNotAllowed | NotFound:
    """What is wrong with a request that is meant for the service, and is kept away from the engine: its path takes
    other methods, or there is no such path.

    Args:
        first: part of the path.
    """
    routes = current_app.url_map.bind("")
    allowed = [method for method in METHODS if _is_ours(routes.match(request.path, method)[0])]
    if allowed:
        return MethodNotAllowed(valid_methods=allowed)
    return NotFound(f"there is no {request.path} here; what begins with /{first} is the service's own")


def is_for_engine() -> bool:
    """Whether the current request goes to the engine."""
    return request.endpoint == ENDPOINT


def _is_ours(endpoint: str) -> bool:
    return endpoint not in (ENDPOINT, _NO_ENGINE)
