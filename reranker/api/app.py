"""Builds the service: the one place that puts settings, store, embeddings and routes together."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, Response, request

from reranker import proxy
from reranker.api import (
    api_keys,
    callers,
    limits,
    match_routes,
    operations_routes,
    page,
    rerank_routes,
    search_routes,
    traffic_routes,
    watching,
)
from reranker.api.allowed_hosts import AllowedHosts
from reranker.api.engine_front import EngineFront
from reranker.embeddings import Embeddings
from reranker.service import errors
from reranker.service.service import EXTENSION, Service
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from reranker.upstream.incoming import Incoming


def create_app(
    settings: Settings,
    store: Store | None,
    embeddings: Embeddings | None,
    shadow: Callable[[Incoming], None] | None = None,
) -> Flask:
    """The service as a WSGI application.

    Who made the store closes it, after `Service.integrity.stop`.

    Args:
        embeddings: None where there are none yet: it opens those of the settings once they are there.
        shadow: takes the proxy's searches, whose answers stay the engine's own; None where they are re-ranked.
    """
    app = Flask("reranker.api", static_folder=None)
    # The engine's paths are passed on as they came: `//` and a slash at the end mean what the engine says.
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    app.extensions[EXTENSION] = Service.build(settings, store, embeddings)
    errors.register(app)
    for module in (search_routes, rerank_routes, match_routes, traffic_routes, operations_routes, page):
        app.register_blueprint(module.blueprint)
    proxy.register(app, settings, shadow)
    watch, allowed = watching.register(app), AllowedHosts(settings)
    app.before_request(lambda: allowed.check(request.environ))  # what is refused is counted and logged too
    keys = api_keys.register(app, settings)
    limits.register(app)  # who is not let in waits for no slot
    callers.say_who_is_let_in(settings)
    app.after_request(_guard)
    if proxy.PROXY_EXTENSION in app.extensions:
        front = EngineFront(app, app.wsgi_app, watch, allowed, keys, settings.proxy_max_body_bytes)
        app.wsgi_app = front  # type: ignore[method-assign]
    return app


def _guard(response: Response) -> Response:
    """Browsers take our answers for what they say they are; the engine's are left as they are (`engine_front`)."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    return response
