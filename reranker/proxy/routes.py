"""The proxy's routes: searches are re-ranked, every other path and method goes to the engine and back unchanged.

`POST` and `GET` of `/_search`, `/{index}/_search`, `/_msearch` and `/{index}/_msearch` are re-ranked where they hold a
query text. Callers use their own credentials: the service's are not lent to them. Re-ranking that fails never fails a
search: the engine's own answer is passed on, marked `X-Rerank-Status: fallback`, counted, and logged in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from flask import Flask, redirect
from werkzeug.wrappers import Response as AnyResponse

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


def register(app: Flask, settings: Settings, shadow: Callable[[Incoming], None] | None) -> None:
    """Adds the proxy in front of an engine; where there is none, `/` leads to the page.

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
    else:
        app.add_url_rule("/", "root", _to_page, methods=["GET"])


def is_for_proxy(method: str, target: str) -> bool:
    """Whether a request is answered by the proxy: its path is none of ours, and one that engines have.

    Args:
        target: path and query string (`raw_target`).
    """
    first = unquote(target.partition("?")[0]).lstrip("/").partition("/")[0]  # as Flask reads it
    return method in METHODS and first not in RESERVED


def _to_page() -> AnyResponse:
    return redirect("/-/ui")
