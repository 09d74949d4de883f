"""Traces requests with OpenTelemetry, where it is installed (`pip install 'sinkrank[otel]'`) and one of its variables
names an endpoint: a span a request, below it one for each call to an engine and one for each re-ranking.

Where spans are sent is OpenTelemetry's own to know (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER`, …). No span
holds the text of a query. OpenTelemetry's own instrumentation has nothing for http.client, by which an engine is asked,
and that of WSGI writes the query string, with the text of `?q=`, into its span.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from reranker.base.request_context import set_tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_tracer: Tracer | None = None
_log = logging.getLogger(__name__)


def trace_to_endpoint(environ: Mapping[str, str]) -> None:
    """Traces where a variable names an endpoint, by OTLP over HTTP. Without OpenTelemetry's packages it logs a warning:
    a cluster may give the variable to every container."""
    name = next((name for name in _ENDPOINTS if environ.get(name)), None)
    if name is None:
        return
    try:
        start_tracing(_exporting())
    except ImportError as error:
        _log.warning("%s is set, but there are no traces: %s; pip install 'sinkrank[otel]'", name, error)


def start_tracing(provider: TracerProvider) -> None:
    """Traces from now on, in the whole process.

    Args:
        provider: what takes the spans.
    """
    global _tracer
    _tracer = provider.get_tracer("sinkrank")
    set_tracer(partial(_engine_call, _tracer))


def stop_tracing() -> None:
    """Ends it; who made the provider shuts it down."""
    global _tracer
    _tracer = None
    set_tracer(None)


def _exporting() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come before the name given here.
    provider = TracerProvider(resource=Resource({SERVICE_NAME: "sinkrank"}).merge(Resource.create()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


@dataclass(slots=True)
class RequestSpan:
    """The span of a request, and what puts back the context that was there before it."""

    span: Span
    token: Any

    def answered(self, status: int) -> None:
        _answered(self.span, status, error_from=500)


def start_request_span(method: str, route: str, environ: Mapping[str, Any]) -> RequestSpan | None:
    """Begins the span of a request, a child of the caller's where `traceparent` names one; None without tracing.

    Args:
        environ: of WSGI.
    """
    if _tracer is None:
        return None
    from opentelemetry import context, propagate, trace

    headers = {key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")}
    parent = propagate.extract(headers)
    attributes = {"http.request.method": method, "http.route": route}
    span = _tracer.start_span(f"{method} {route}", parent, trace.SpanKind.SERVER, attributes)
    return RequestSpan(span, context.attach(trace.set_span_in_context(span, parent)))


def end_request_span(request_span: RequestSpan | None) -> None:
    if request_span is None:
        return
    from opentelemetry import context

    context.detach(request_span.token)
    request_span.span.end()


def trace_reranking(seconds: float, method: str, n_candidates: int) -> None:
    """A span of a re-ranking that has just ended."""
    if _tracer is None:
        return
    ended = time.time_ns()
    attributes: dict[str, str | int] = {"sinkrank.method": method, "sinkrank.candidates": n_candidates}
    span = _tracer.start_span("rerank", attributes=attributes, start_time=ended - round(seconds * 1e9))
    span.end(ended)


@dataclass(slots=True)
class _EngineSpan:
    headers: Mapping[str, str]
    span: Span

    def answered(self, status: int) -> None:
        _answered(self.span, status, error_from=400)


@contextmanager
def _engine_call(tracer: Tracer, method: str, address: str) -> Iterator[_EngineSpan]:
    from opentelemetry import propagate, trace

    attributes = {"http.request.method": method, "server.address": address}
    with tracer.start_as_current_span(
        f"engine {method}", kind=trace.SpanKind.CLIENT, attributes=attributes, record_exception=False
    ) as span:
        headers: dict[str, str] = {}
        propagate.inject(headers)
        yield _EngineSpan(headers, span)


def _answered(span: Span, status: int, error_from: int) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("http.response.status_code", status)
    if status >= error_from:
        span.set_status(Status(StatusCode.ERROR))
