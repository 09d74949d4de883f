"""The spans of a request: its own, below the caller's, and those of the engine's calls below that."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.service.tracing import start_tracing, stop_tracing, trace_to_endpoint
from reranker.stores import open_store
from tests.support.fake_engine import FakeEngine, ok
from tests.support.service import MakeProxy

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    start_tracing(provider)
    yield exporter
    stop_tracing()
    provider.shutdown()


def test_the_engines_call_is_a_child_of_the_request_which_is_a_child_of_the_callers(
    make_proxy: MakeProxy, fake: FakeEngine, spans: InMemorySpanExporter
) -> None:
    fake.answer = lambda received: ok(
        b'{"hits":{"hits":[{"_index":"i","_id":"1","_score":2.0,"_source":{"t":"dog"}}]}}'
    )
    headers = {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"}
    make_proxy().test_client().post("/i/_search", json={"query": {"match": {"t": "cat"}}}, headers=headers)

    by_name = {span.name: span for span in spans.get_finished_spans()}
    request, call, rerank = by_name["POST engine"], by_name["engine POST"], by_name["rerank"]
    assert {f"{span.context.trace_id:032x}" for span in by_name.values()} == {TRACE_ID}
    assert f"{request.parent.span_id:016x}" == SPAN_ID
    assert call.parent.span_id == rerank.parent.span_id == request.context.span_id
    assert (request.kind, call.kind) == (SpanKind.SERVER, SpanKind.CLIENT)
    assert call.attributes["http.response.status_code"] == 200
    assert fake.received[0].header("traceparent") == f"00-{TRACE_ID}-{call.context.span_id:016x}-01"
    assert "cat" not in str([dict(span.attributes) for span in by_name.values()])


def test_so_is_each_call_of_our_own_search(
    fake: FakeEngine, embeddings: Embeddings, tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    fake.answer = lambda received: ok(b"{}")
    with closing(open_store(fake.url)) as store:
        app = create_app(Settings(home=tmp_path, store=fake.url, threads=1, proxy_budget_ms=60_000), store, embeddings)
        app.test_client().post("/v1/search", json={"query": "cat", "index": "pages"})

    *calls, request = spans.get_finished_spans()
    assert request.name == "POST /v1/search"
    assert calls
    assert {call.parent.span_id for call in calls} == {request.context.span_id}
    assert [one.header("traceparent").split("-")[1:3] for one in fake.received] == [
        [f"{call.context.trace_id:032x}", f"{call.context.span_id:016x}"] for call in calls
    ]


def test_a_request_that_fails_is_an_error_in_its_span(app: Flask, spans: InMemorySpanExporter) -> None:
    def fail() -> None:
        raise RuntimeError("secret 1234")

    app.add_url_rule("/-/fail", view_func=fail)
    client = app.test_client()
    client.get("/-/fail")
    client.post("/v1/search", json={"query": "xxyy"})  # the caller's own fault
    failed, refused = spans.get_finished_spans()
    assert (failed.name, failed.status.status_code) == ("GET /-/fail", StatusCode.ERROR)
    assert refused.attributes["http.response.status_code"] == 422
    assert refused.status.status_code == StatusCode.UNSET
    assert "1234" not in failed.to_json()


def test_without_tracing_no_span_is_made(app: Flask, spans: InMemorySpanExporter) -> None:
    stop_tracing()
    app.test_client().post("/v1/search", json={"query": "cat"})
    assert not spans.get_finished_spans()


def test_without_the_packages_a_variable_for_every_container_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    trace_to_endpoint({"OTEL_EXPORTER_OTLP_ENDPOINT": ""})
    assert not caplog.records
    trace_to_endpoint({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    assert "pip install 'sinkrank[otel]'" in caplog.text
