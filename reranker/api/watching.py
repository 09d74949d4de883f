"""Watches every request: names it, counts and times it, and logs it."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import regex
from flask import Flask, Response, g, request

from reranker.base.leaving import set_client
from reranker.base.request_context import RequestContext, current_request, set_current_request
from reranker.service.service import EXTENSION, Service

REQUEST_ID_HEADER = "X-Opaque-Id"

_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
# W3C Trace Context, version 00; https://www.w3.org/TR/trace-context/#traceparent-header
_TRACEPARENT = regex.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
# What a caller names a request stands in logs: one line, of bounded length.
_REQUEST_ID = regex.compile(r"[\x21-\x7e]{1,128}")

_access = logging.getLogger("sinkrank.access")


def register(app: Flask) -> Watch:
    """Installs it."""
    watch = Watch(app.extensions[EXTENSION])

    def begin() -> None:
        rule = request.url_rule
        g.watched = watch.begin(request.environ, "none" if rule is None else rule.rule)

    def answered(response: Response) -> Response:
        context = current_request()
        if context is not None:
            response.headers[REQUEST_ID_HEADER] = context.request_id
        watch.answered(g.watched, request.method, response.status_code)
        return response

    def end(error: BaseException | None) -> None:
        if g.pop("watched", None) is not None:
            watch.end()

    app.before_request(begin)
    app.after_request(answered)
    app.teardown_request(end)
    return watch


@dataclass(frozen=True, slots=True)
class Watched:
    """A request that is being answered.

    Attributes:
        started: when it arrived, by `time.perf_counter`.
        route: the pattern of its path: `/v1/search`, `engine` for what is passed on, `none` for what is nothing.
    """

    started: float
    route: str


@dataclass(frozen=True, slots=True)
class Watch:
    """Watches the requests of one app."""

    service: Service

    def begin(self, environ: Mapping[str, Any], route: str) -> Watched:
        # Our server says when it arrived: it may have waited for a thread since.
        started = environ.get("sinkrank.arrived_s") or time.perf_counter()
        set_current_request(_context(self.service, environ))
        set_client(environ.get("sinkrank.client"))
        self.service.metrics.requests_in_progress.inc()
        return Watched(started, route)

    def answered(self, watched: Watched, method: str, status: int) -> None:
        seconds, metrics = time.perf_counter() - watched.started, self.service.metrics
        metrics.requests.labels(watched.route, method if method in _METHODS else "other", str(status)).inc()
        metrics.request_seconds.labels(watched.route).observe(seconds)
        context = current_request()
        if context is not None:
            _log(self.service, context, watched.route, method, status, seconds * 1000)

    def end(self) -> None:
        self.service.metrics.requests_in_progress.dec()
        set_current_request(None)
        set_client(None)


def _context(service: Service, environ: Mapping[str, Any]) -> RequestContext:
    """The request's name: the caller's, that of its trace, or a new one."""
    traceparent = _TRACEPARENT.fullmatch(environ.get("HTTP_TRACEPARENT", ""))
    named = environ.get("HTTP_X_OPAQUE_ID", "")
    request_id = named if _REQUEST_ID.fullmatch(named) else traceparent[1] if traceparent else secrets.token_hex(16)
    headers = {REQUEST_ID_HEADER: request_id}
    if traceparent:
        headers["traceparent"] = traceparent.group()
    return RequestContext(request_id, headers, waiting=service.slots.waiting)


def _log(service: Service, context: RequestContext, route: str, method: str, status: int, took_ms: float) -> None:
    if not _access.isEnabledFor(logging.INFO):
        return
    shows_query = service.settings.log_queries or _access.isEnabledFor(logging.DEBUG)
    facts = {name: value for name, value in context.facts.items() if shows_query or name != "query"}
    fields = {"route": route, "http_method": method, "status": status, "took_ms": round(took_ms, 1), **facts}
    _access.info("%s %s %d in %.1f ms", method, route, status, took_ms, extra={"fields": fields})
