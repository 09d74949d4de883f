"""What stands in the log of a request, and under which name."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.logs import set_up_logs
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from tests.support.fake_engine import FakeEngine, ok
from tests.support.service import MakeProxy

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"

Logged = Callable[..., tuple[Flask, Callable[[], list[dict[str, Any]]]]]


@pytest.fixture
def logged(store: Store, embeddings: Embeddings, tmp_path: Path) -> Iterator[Logged]:
    """An app with other settings, and the JSON lines of its log so far."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level

    def start(**changes: Any) -> tuple[Flask, Callable[[], list[dict[str, Any]]]]:
        stream = io.StringIO()
        settings = Settings(home=tmp_path, threads=1, **{"log_format": "json", "log_level": "info", **changes})
        set_up_logs(settings, stream)
        return create_app(settings, store, embeddings), lambda: [
            json.loads(line) for line in stream.getvalue().splitlines()
        ]

    yield start
    root.handlers, root.level = handlers, level


def of(lines: list[dict[str, Any]], logger: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["logger"] == logger]


def test_a_request_has_a_line_with_what_is_known_of_it_but_not_its_text(logged: Logged) -> None:
    app, lines = logged()
    app.test_client().post("/v1/search", json={"query": "cat", "method": "emd"}, headers={"X-Opaque-Id": "mine-7"})
    (line,) = of(lines(), "sinkrank.access")
    assert (line["route"], line["http_method"], line["status"]) == ("/v1/search", "POST", 200)
    assert (line["request_id"], line["index"], line["method"], line["language"]) == ("mine-7", "pages", "emd", "en")
    assert line["n_candidates"] > 0
    assert "query" not in line


@pytest.mark.parametrize("changes", [{"log_queries": True}, {"log_level": "debug"}])
def test_the_text_of_a_query_is_logged_only_where_a_setting_says_so(logged: Logged, changes: dict[str, Any]) -> None:
    app, lines = logged(**changes)
    app.test_client().post("/v1/search", json={"query": "cat"})
    assert of(lines(), "sinkrank.access")[0]["query"] == "cat"


def test_lines_for_people_have_the_text_of_a_query_too_where_a_setting_says_so(logged: Logged) -> None:
    for log_queries in (True, False):
        app, _ = logged(log_queries=log_queries)
        stream = io.StringIO()
        set_up_logs(Settings(log_level="info"), stream)
        app.test_client().post("/v1/search", json={"query": "cat\n2026-01-01 ERROR forged"})
        (line,) = [line for line in stream.getvalue().splitlines() if "sinkrank.access" in line]
        assert ("query 'cat\\n2026-01-01 ERROR forged'" in line) == log_queries


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-Opaque-Id": "job 7"}, None),  # a blank would part it in two words of a log
        ({"X-Opaque-Id": "x" * 129}, None),
        ({"X-Opaque-Id": "a", "traceparent": TRACEPARENT}, "a"),
        ({"traceparent": TRACEPARENT}, TRACE_ID),
        ({"traceparent": TRACEPARENT.upper()}, None),
        ({}, None),
    ],
)
def test_a_request_goes_by_the_name_that_its_caller_gave_it(
    app: Flask, headers: dict[str, str], expected: str | None
) -> None:
    named = app.test_client().get("/-/live", headers=headers).headers["X-Opaque-Id"]
    if expected is None:
        assert len(named) == 32
        assert int(named, 16) >= 0
    else:
        assert named == expected


def test_lines_for_people_name_the_request(logged: Logged, capsys: pytest.CaptureFixture[str]) -> None:
    app, _ = logged(log_format="plain")
    stream = io.StringIO()
    set_up_logs(Settings(log_level="info"), stream)
    app.test_client().get("/-/live", headers={"X-Opaque-Id": "mine-7"})
    assert "INFO sinkrank.access [mine-7]: GET /-/live 200 in" in stream.getvalue()


def test_a_message_of_several_lines_is_one_line_for_people_and_a_traceback_is_not(logged: Logged) -> None:
    logged(log_format="plain")
    stream = io.StringIO()
    set_up_logs(Settings(), stream)
    log = logging.getLogger("test")
    log.warning("an engine says: %s", "<html>\r\n\x1b[2J2026-01-01 ERROR forged\n</html>")
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        log.exception("failed")
    first, second, *traceback = stream.getvalue().splitlines()
    assert first.endswith("WARNING test: an engine says: <html> [2J2026-01-01 ERROR forged </html>")
    assert second.endswith("ERROR test: failed")
    assert traceback[-1] == "RuntimeError: broken"


def test_an_error_inside_keeps_its_traceback_in_one_line(logged: Logged) -> None:
    app, lines = logged()

    def fail() -> None:
        raise RuntimeError("broken")

    app.add_url_rule("/-/fail", view_func=fail)
    app.test_client().get("/-/fail")
    (line,) = of(lines(), "reranker.service.errors")
    assert line["level"] == "error"
    assert "RuntimeError: broken" in line["exception"]


def test_our_own_search_names_the_request_to_the_engine(
    fake: FakeEngine, embeddings: Embeddings, tmp_path: Path
) -> None:
    fake.answer = lambda received: ok(b"{}")
    store = open_store(fake.url)
    app = create_app(Settings(home=tmp_path, store=fake.url, threads=1, proxy_budget_ms=60_000), store, embeddings)
    headers = {"X-Opaque-Id": "mine-7", "traceparent": TRACEPARENT}
    app.test_client().post("/v1/search", json={"query": "cat", "index": "pages"}, headers=headers)
    store.close()
    assert fake.received
    assert {one.header("X-Opaque-Id") for one in fake.received} == {"mine-7"}
    assert {one.header("traceparent") for one in fake.received} == {TRACEPARENT}


def test_the_proxy_hands_on_what_the_caller_named_and_adds_no_name(fake: FakeEngine, make_proxy: MakeProxy) -> None:
    client = make_proxy().test_client()
    client.get("/_cat", headers={"X-Opaque-Id": "mine 7", "traceparent": TRACEPARENT})
    client.get("/_cat")
    first, second = fake.received
    assert (first.header("X-Opaque-Id"), first.header("traceparent")) == ("mine 7", TRACEPARENT)
    assert (second.header("X-Opaque-Id"), second.header("traceparent")) == (None, None)


def test_what_a_reranking_finds_in_its_own_thread_stands_in_the_line_of_its_request(
    logged: Logged, fake: FakeEngine, make_proxy: MakeProxy
) -> None:
    _, lines = logged()
    fake.answer = lambda received: ok(
        b'{"hits":{"hits":[{"_index":"i","_id":"1","_score":2.0,"_source":{"t":"dog"}}]}}'
    )
    body = {"query": {"match": {"t": "cat"}}}
    make_proxy().test_client().post("/i/_search", json=body, headers={"X-Opaque-Id": "mine-7"})
    (line,) = of(lines(), "sinkrank.access")
    assert (line["request_id"], line["route"], line["n_candidates"]) == ("mine-7", "engine", 1)
