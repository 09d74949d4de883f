"""A service that was started before there were embeddings."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from reranker.api.app import create_app
from reranker.service.missing_embeddings import prepare_command
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from tests.support.calls import outcomes
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.tiny import tiny_embeddings

HITS = [
    {"_index": "i", "_id": text, "_score": 9.5 - n, "_source": {"t": text}} for n, text in enumerate(["car", "cat"])
]
ANSWER = json.dumps({"took": 3, "hits": {"total": {"value": 2}, "max_score": 9.5, "hits": HITS}}, indent=1).encode()
SEARCH = {"query": {"match": {"t": "cat"}}}


def answer(received: Received) -> bytes:
    if "_msearch" in received.line:
        return ok(b'{"responses": [' + ANSWER + b"]}")
    return ok(ANSWER)


@pytest.fixture
def fake(fake: FakeEngine) -> FakeEngine:
    fake.answer = answer
    return fake


@pytest.fixture
def app(fake: FakeEngine, tmp_path: Path) -> Flask:
    app = create_app(
        Settings(home=tmp_path, threads=1, store=fake.url, method="rwmd", proxy_budget_ms=60_000), None, None
    )
    return app


@pytest.fixture
def look_now(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets the time pass until the next look."""
    opening = app.extensions[EXTENSION]._opening
    return lambda: setattr(opening, "_next_look", 0.0)


def test_the_proxy_passes_every_search_on_as_it_came(app: Flask, fake: FakeEngine) -> None:
    response = app.test_client().post("/i/_search?pretty", json=SEARCH)
    assert response.data == ANSWER
    assert (response.headers["X-Rerank-Status"], response.headers["X-Rerank-Reason"]) == ("fallback", "no_embeddings")
    (received,) = fake.received
    assert received.line == "POST /i/_search?pretty HTTP/1.1"
    assert json.loads(received.body) == SEARCH
    assert outcomes(app) == {"fallback/no_embeddings": 1}


def test_the_log_says_at_the_start_which_command_makes_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    create_app(Settings(home=tmp_path, store="opensearch://me:secret@h:1"), None, None)
    (record,) = caplog.records
    assert "sinkrank embeddings prepare --store opensearch://h:1 --index INDEX" in record.message
    assert "without a restart" in record.message


def test_our_section_is_taken_out_of_what_is_passed_on(app: Flask, fake: FakeEngine) -> None:
    response = app.test_client().post("/i/_search", json={**SEARCH, "ext": {"rerank": {"window_size": 5}}})
    assert response.headers["X-Rerank-Reason"] == "no_embeddings"
    assert json.loads(fake.received[0].body) == SEARCH


def test_a_multi_search_is_passed_on_too(app: Flask, fake: FakeEngine) -> None:
    lines = [{"index": "i"}, {**SEARCH, "ext": {"rerank": {}}}, {}, {**SEARCH, "sort": ["price"]}]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    response = app.test_client().post("/_msearch", data=body, content_type="application/x-ndjson")
    assert (response.headers["X-Rerank-Status"], response.headers["X-Rerank-Reason"]) == ("fallback", "no_embeddings")
    assert [json.loads(line) for line in fake.received[0].body.splitlines()] == [{"index": "i"}, SEARCH, {}, lines[3]]


def test_a_search_that_would_not_be_reranked_keeps_its_own_reason(app: Flask) -> None:
    response = app.test_client().post("/i/_search", json={**SEARCH, "sort": ["price"]})
    assert (response.headers["X-Rerank-Status"], response.headers["X-Rerank-Reason"]) == ("skipped", "sorted")


@pytest.mark.parametrize(
    ("path", "body", "key"),
    [
        ("/v1/rerank", {"query": "cat", "documents": ["dog"]}, "message"),
        ("/v2/rerank", {"query": "cat", "documents": ["dog"]}, "message"),
        ("/rerank", {"query": "cat", "texts": ["dog"]}, "error"),
    ],
)
def test_the_rerank_routes_answer_503_with_the_command_that_helps(
    app: Flask, fake: FakeEngine, tmp_path: Path, path: str, body: dict[str, Any], key: str
) -> None:
    response = app.test_client().post(path, json=body)
    assert response.status_code == 503
    command = f"sinkrank embeddings prepare --store {fake.url} --index INDEX --home {tmp_path}"
    assert command in response.get_json()[key]


def test_our_own_search_answers_503_too(tmp_path: Path) -> None:
    from reranker.stores import open_store

    store = open_store(str(tmp_path / "store"))
    client = create_app(Settings(home=tmp_path), store, None).test_client()
    for path, body in (("/v1/search", {"query": "cat"}), ("/v1/explain", {"query": "cat", "id": "1"})):
        response = client.post(path, json=body)
        assert (response.status_code, response.get_json()["code"]) == (503, "no_embeddings")
        assert "sinkrank embeddings prepare FILE" in response.get_json()["detail"]
    store.close()


def test_without_an_engine_there_is_nothing_to_pass_on_and_it_is_not_ready(tmp_path: Path) -> None:
    app = create_app(Settings(home=tmp_path), None, None)
    response = app.test_client().get("/-/ready")
    assert (response.status_code, response.get_json()["status"]) == (503, "not ready")


def test_a_degraded_proxy_that_drains_is_not_ready(app: Flask) -> None:
    app.extensions[EXTENSION].draining.set()
    assert app.test_client().get("/-/ready").status_code == 503


def test_the_page_says_which_command_makes_them(app: Flask) -> None:
    page = app.test_client().get("/-/ui")
    assert page.status_code == 200
    assert "sinkrank embeddings prepare --store opensearch://" in page.text


def test_the_files_of_embeddings_that_are_made_later_are_checked_too(
    app: Flask, tmp_path: Path, look_now: Callable[[], None]
) -> None:
    made = tiny_embeddings(tmp_path / "embeddings")
    look_now()
    client = app.test_client()
    assert client.post("/i/_search", json=SEARCH).headers["X-Rerank-Status"] == "applied"
    assert app.extensions[EXTENSION].integrity.wait(30)
    n_files = len(list(made.path.glob("*.npy")))  # of a block each
    assert f'sinkrank_checked_blocks_total{{part="embeddings"}} {n_files}.0' in client.get("/-/metrics").text


def test_embeddings_that_are_made_later_and_damaged_are_named_and_searches_pass(
    app: Flask, tmp_path: Path, look_now: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    tiny_embeddings(tmp_path / "embeddings")
    (tmp_path / "embeddings" / "vectors.npy").write_bytes(b"cut")
    client = app.test_client()
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            look_now()
            assert client.post("/i/_search", json=SEARCH).headers["X-Rerank-Reason"] == "no_embeddings"
    assert len([record for record in caplog.records if "cannot be opened" in record.message]) == 1
    assert "damaged" in client.get("/-/ready").get_json()["checks"]["embeddings"]["message"]


def test_embeddings_that_the_service_may_not_read_leave_it_ready_to_pass_searches_on(
    app: Flask, tmp_path: Path, look_now: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:  # root may read all
        raise PermissionError(13, "Permission denied", str(path))

    tiny_embeddings(tmp_path / "embeddings")
    client = app.test_client()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        look_now()
        ready = client.get("/-/ready")
    assert (ready.status_code, ready.get_json()["status"]) == (200, "degraded")
    cure = "meta.json: Permission denied; check its permissions"
    assert cure in ready.get_json()["checks"]["embeddings"]["message"]
    look_now()
    assert client.post("/i/_search", json=SEARCH).headers["X-Rerank-Status"] == "applied"


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        (Settings(store="https://me:secret@search.example"), "--store https://search.example:443 --index INDEX"),
        (Settings(store="opensearch://h:1", index="my pages"), "--store opensearch://h:1 --index 'my pages'"),
        (Settings(), "FILE"),
        (Settings(store="opensearch://h:1", embeddings=Path("e")), "--store opensearch://h:1 --index INDEX --output e"),
    ],
)
def test_the_command_names_store_and_index_and_no_secret(settings: Settings, command: str) -> None:
    assert prepare_command(settings) == f"sinkrank embeddings prepare {command}"
