"""Watches every request: names it, counts and times it, logs it, and traces it where traces are on."""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass
from urllib.parse import urlencode

import regex
from flask import Flask, Response, current_app, g, request

from reranker.base.leaving import set_client
from reranker.base.request_context import RequestContext, current_request, set_current_request
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.service.metrics import CIRCUIT_STATES, is_multiprocess
from reranker.service.service import EXTENSION, Service, current_service
from reranker.service.tracing import end_request_span, start_request_span

REQUEST_ID_HEADER = "X-Opaque-Id"

_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
# W3C Trace Context, version 00; https://www.w3.org/TR/trace-context/#traceparent-header
_TRACEPARENT = regex.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
# What a caller names a request stands in logs: one line, of bounded length.
_REQUEST_ID = regex.compile(r"[\x21-\x7e]{1,128}")

# What the page reads of its address (static/state.js).
_PAGE_KEYS = ("query", "language", "target", "index", "method", "first_stage", "depth", "epsilon", "tau", "share")

_access = logging.getLogger("sinkrank.access")
_slow = logging.getLogger("sinkrank.slow")


def register(app: Flask) -> None:
    """Installs it."""
    watch = _Watch(app.extensions[EXTENSION], is_multiprocess())
    app.before_request(watch.begin)
    app.after_request(watch.answered)
    app.teardown_request(watch.end)


def update_metrics() -> None:
    """Brings the metrics up to what the cache has counted, and to the state of the proxy's breaker."""
    service = current_service()
    n_hits, n_misses = service.bag_cache.new_counts()
    if n_hits or n_misses:
        service.metrics.cache_hits.inc(n_hits)
        service.metrics.cache_misses.inc(n_misses)
    proxy: Proxy | None = current_app.extensions.get(PROXY_EXTENSION)
    if proxy is not None:
        service.metrics.circuit_state.set(CIRCUIT_STATES[proxy.breaker.state])


@dataclass(frozen=True, slots=True)
class _Watch:
    """The hooks of one app.

    Attributes:
        is_shared: another process may be asked for this one's metrics, so they are up to date after each request.
    """

    service: Service
    is_shared: bool

    def begin(self) -> None:
        g.started = time.perf_counter()
        g.route = _route()
        set_current_request(_context(self.service))
        set_client(request.environ.get("sinkrank.client"))
        g.span = start_request_span(request.method, g.route, request.headers.items())
        self.service.metrics.requests_in_progress.inc()
        if self.service.kernels.is_usable:  # before that the process may still fork
            self.service.check_files()

    def answered(self, response: Response) -> Response:
        seconds, route, metrics = time.perf_counter() - g.started, g.route, self.service.metrics
        method = request.method if request.method in _METHODS else "other"
        metrics.requests.labels(route, method, str(response.status_code)).inc()
        metrics.request_seconds.labels(route).observe(seconds)
        if self.is_shared:
            update_metrics()
        context = current_request()
        if context is not None:
            if not g.get("passed_on"):
                response.headers[REQUEST_ID_HEADER] = context.request_id
            _log(self.service, context, route, response.status_code, seconds * 1000)
        if g.span is not None:
            g.span.answered(response.status_code)
        return response

    def end(self, error: BaseException | None) -> None:
        if g.get("started") is None:
            return
        self.service.metrics.requests_in_progress.dec()
        end_request_span(g.pop("span", None))
        set_current_request(None)
        set_client(None)


def _route() -> str:
    """The pattern of the path: `/v1/search`, `engine` for what is passed on, `none` for what is nothing."""
    rule = request.url_rule
    if rule is None or rule.endpoint == "no_engine":
        return "none"
    return "engine" if rule.endpoint == "engine" else rule.rule


def _context(service: Service) -> RequestContext:
    """The request's name: the caller's, that of its trace, or a new one."""
    headers = {}
    traceparent = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    named = request.headers.get(REQUEST_ID_HEADER, "")
    request_id = named if _REQUEST_ID.fullmatch(named) else traceparent.group(1) if traceparent else uuid.uuid4().hex
    headers[REQUEST_ID_HEADER] = request_id
    if traceparent:
        headers["traceparent"] = traceparent.group()
    return RequestContext(request_id, headers, turns=service.turns)


def _log(service: Service, context: RequestContext, route: str, status: int, took_ms: float) -> None:
    settings = service.settings
    is_slow = bool(settings.slow_query_ms) and took_ms >= settings.slow_query_ms and "method" in context.facts
    if not is_slow and not _access.isEnabledFor(logging.INFO):
        return
    shows_query = settings.log_queries or _access.isEnabledFor(logging.DEBUG)
    facts = {name: value for name, value in context.facts.items() if shows_query or name != "query"}
    fields = {"route": route, "http_method": request.method, "status": status, "took_ms": round(took_ms, 1), **facts}
    _access.info("%s %s %d in %.1f ms", request.method, route, status, took_ms, extra={"fields": fields})
    if is_slow:
        fields["explain"] = _explain_link(facts)
        _slow.warning("slow: %s took %.1f ms; %s", route, took_ms, fields["explain"], extra={"fields": fields})


def _explain_link(facts: dict[str, object]) -> str:
    """The page with the search's choices filled in; the query is among them only where it may be logged."""
    chosen = {name: str(facts[name]) for name in _PAGE_KEYS if facts.get(name) is not None}
    return f"/-/ui?{urlencode(chosen)}"
