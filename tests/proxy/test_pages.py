"""Pages agree: whatever the window and the page sizes, they hold each hit once, and always in the same order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from tests.support.calls import chat
from tests.support.fake_engine import Received, fake_engine, ok
from tests.support.tiny import POSITIONS

TEXTS = [*POSITIONS["en"], *POSITIONS["fr"], "zzz", "", "cat bread", "chien", "car car"]

sizes = st.lists(st.integers(1, 20), min_size=1, max_size=6)


def refused(reason: str) -> bytes:
    error = {"root_cause": [{"reason": reason}], "reason": reason}
    return ok(json.dumps({"error": error, "status": 400}).encode()).replace(b"200 OK", b"400 Bad Request", 1)


def walk(ask: Any, window: int, page_sizes: Sequence[int], n_hits: int) -> list[tuple[str, float]]:
    """The hits of page after page, each as long as the next of the sizes, until all have been seen."""
    seen: list[tuple[str, float]] = []
    offset = 0
    while offset <= n_hits:
        size = page_sizes[len(seen) % len(page_sizes)]
        seen += ask(offset, size, window)
        offset += size
    return seen


@pytest.fixture(scope="module")
def found() -> list[str]:
    return []


@pytest.fixture(scope="module")
def client(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory, found: list[str]) -> Iterator[FlaskClient]:
    """The proxy in front of an engine that finds whatever `found` holds, in that order."""

    def answer(received: Received) -> bytes:
        body = json.loads(received.body)
        start, size = body["from"], body["size"]
        depth = body["retriever"]["rrf"].get("rank_window_size", 10) if "retriever" in body else None
        if depth is not None and size > depth:
            return refused(f"[rrf] requires [rank_window_size: {depth}] be greater than or equal to [size: {size}]")
        page = [
            {"_index": "pages", "_id": str(n), "_score": 50.0 - n, "_source": {"body": text}}
            for n, text in list(enumerate(found))[:depth][start : start + size]
        ]
        return ok(json.dumps({"took": 1, "hits": {"max_score": 50.0, "hits": page}}).encode())

    with fake_engine() as engine:
        engine.answer = answer
        home = tmp_path_factory.mktemp("pages")
        app = create_app(Settings(home=home, threads=1, store=engine.url, proxy_budget_ms=60_000), None, embeddings)
        yield app.test_client()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from(TEXTS), max_size=40), window=st.integers(1, 30), page_sizes=sizes)
def test_pages_hold_each_hit_once_and_agree(
    client: FlaskClient, found: list[str], texts: list[str], window: int, page_sizes: list[int]
) -> None:
    found[:] = texts

    def ask(offset: int, size: int, window: int) -> list[tuple[str, float]]:
        body = {"query": {"match_all": {}}, "from": offset, "size": size, "ext": chat(window_size=window)}
        response = client.post("/pages/_search", json=body)
        assert response.status_code == 200
        if offset >= window:
            assert response.headers["X-Rerank-Reason"] == "beyond_window"
        return [(hit["_id"], hit["_score"]) for hit in response.get_json()["hits"]["hits"]]

    whole = ask(0, max(1, len(texts)), window)
    ids, scores = [doc_id for doc_id, _ in whole], [score for _, score in whole]
    assert sorted(ids) == sorted(str(n) for n in range(len(texts)))
    assert ids[window:] == [str(n) for n in range(len(texts))][window:]
    seen = walk(ask, window, page_sizes, len(texts))
    assert [doc_id for doc_id, _ in seen] == ids
    if scores and scores[0] <= 1:  # the engine's are larger, and stay where no hit has a known word
        assert seen == whole
        assert scores == sorted(scores, reverse=True)
        assert all(score < 0.02 for score in scores[window:])


@pytest.mark.parametrize("depth", [None, 50])
def test_pages_of_a_fusion_hold_each_of_its_hits_once(client: FlaskClient, found: list[str], depth: int | None) -> None:
    """Elasticsearch refuses a size above the fusion's depth, which is 10 where nothing is said."""
    found[:] = [TEXTS[n % len(TEXTS)] for n in range(70)]
    fusion: dict[str, Any] = {"query": "cat", "fields": ["body"]}
    if depth is not None:
        fusion["rank_window_size"] = depth
    seen: list[str] = []
    for offset in range(0, depth or 10, 20 if depth else 4):
        body = {"retriever": {"rrf": fusion}, "from": offset, "size": 20 if depth else 4, "ext": chat(window_size=100)}
        response = client.post("/pages/_search", json=body)
        assert (response.status_code, response.headers["X-Rerank-Status"]) == (200, "applied")
        seen += [hit["_id"] for hit in response.get_json()["hits"]["hits"]]
    assert sorted(map(int, seen)) == list(range(depth or 10))
