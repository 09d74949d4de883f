"""Answers what is meant for the engine ahead of Flask, whose routing, contexts and hooks would take such a request as
much CPU time as passing it on.

Our own routes are Flask's, whose handlers write the errors of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request

from reranker.api.allowed_hosts import AllowedHosts
from reranker.api.api_keys import ApiKeys, check_key
from reranker.api.limits import check_room
from reranker.api.watching import Watch
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.routes import is_for_proxy
from reranker.service.errors import use_shape
from reranker.upstream.incoming import Incoming, raw_target

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

# How metrics and logs name what is passed on.
_ROUTE = "engine"


@dataclass(frozen=True, slots=True)
class EngineFront:
    """A WSGI application.

    Attributes:
        flask: the application of `app`, for all else.
        keys: None where callers need none.
        max_body_bytes: of what is passed on.
    """

    app: Flask
    flask: WSGIApplication
    watch: Watch
    allowed: AllowedHosts
    keys: ApiKeys | None
    max_body_bytes: int

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        method, target = environ["REQUEST_METHOD"], raw_target(environ)
        if not is_for_proxy(method, target):
            return self.flask(environ, start_response)
        watched = self.watch.begin(environ, _ROUTE)
        try:
            try:
                self.allowed.check(environ)
                if self.keys is not None:
                    check_key(self.keys, environ)
                check_room(environ)
                proxy: Proxy = self.app.extensions[PROXY_EXTENSION]
                reply = proxy.answer(Incoming.read(environ, target, self.max_body_bytes))
            except Exception as error:
                response = self._error(error, environ)
                self.watch.answered(watched, method, response.status_code)
                return response(environ, start_response)
            self.watch.answered(watched, method, int(reply.status[:3]))
            start_response(reply.status, reply.headers)
            return reply.body
        finally:
            self.watch.end()

    def _error(self, error: Exception, environ: dict[str, Any]) -> Response:
        """An error as Flask's handlers write it, in the engine's shape."""
        with self.app.request_context(environ):
            use_shape("engine")
            request.max_content_length = self.max_body_bytes
            return self.app.make_response(self.app.handle_user_exception(error))
