"""Answers what is meant for the engine ahead of Flask, whose routing, contexts and hooks would take such a request as
much CPU time as passing it on.

Our own routes are Flask's, and so is every refusal: a request that a check refuses goes to Flask, which checks it again
and writes the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request

from reranker.api.allowed_hosts import AllowedHosts
from reranker.api.api_keys import ApiKeys, take_key
from reranker.api.limits import REFUSAL
from reranker.api.watching import Watch
from reranker.base.errors import SinkrankError
from reranker.base.request_context import note
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.routes import ENDPOINT, is_for_proxy
from reranker.service.errors import use_shape
from reranker.upstream.incoming import Incoming, raw_target

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse


def register(app: Flask, watch: Watch, allowed: AllowedHosts, keys: ApiKeys | None, max_body_bytes: int) -> None:
    """Installs it, where there is an engine.

    Args:
        max_body_bytes: of what is passed on.
    """
    if PROXY_EXTENSION in app.extensions:
        app.wsgi_app = EngineFront(app, watch, allowed, keys, max_body_bytes)  # type: ignore[method-assign]


class EngineFront:
    """A WSGI application."""

    def __init__(
        self, app: Flask, watch: Watch, allowed: AllowedHosts, keys: ApiKeys | None, max_body_bytes: int
    ) -> None:
        self._app = app
        self._flask = app.wsgi_app
        self._watch = watch
        self._allowed = allowed
        self._keys = keys
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        method, target = environ["REQUEST_METHOD"], raw_target(environ)
        if not is_for_proxy(method, target) or REFUSAL in environ:
            return self._flask(environ, start_response)
        checked, key = environ, None
        try:
            self._allowed.check(environ)
            if self._keys is not None:
                checked = dict(environ)  # the key is taken out of it
                key = take_key(self._keys, checked)
        except SinkrankError:
            return self._flask(environ, start_response)
        if self._keys is not None and key is None:
            return self._flask(environ, start_response)
        watched = self._watch.begin(checked, ENDPOINT)
        try:
            if key is not None:
                note(api_key=key)
            try:
                proxy: Proxy = self._app.extensions[PROXY_EXTENSION]
                reply = proxy.answer(Incoming.read(checked, target, self._max_body_bytes))
            except Exception as error:
                response = self._error(error, checked)
                self._watch.answered(watched, method, response.status_code)
                return response(checked, start_response)
            self._watch.answered(watched, method, int(reply.status[:3]))
            start_response(reply.status, reply.headers)
            return reply.body
        finally:
            self._watch.end(watched)

    def _error(self, error: Exception, environ: dict[str, Any]) -> Response:
        """An error as Flask's handlers write it, in the engine's shape."""
        with self._app.request_context(environ):
            use_shape("engine")
            request.max_content_length = self._max_body_bytes
            return self._app.make_response(self._app.handle_user_exception(error))
