"""`POST /v1/explain` with a search of the engine: what the engine is asked, with whose credentials, and its errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.key_file import add_key
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.support.fake_engine import FakeEngine, Received, ok

ENGINES = "Basic YW5uYTpzZWNyZXQ="
SEARCH = {
    "query": {"match": {"body": "cat"}},
    "from": 500,
    "size": 3,
    "_source": ["n"],
    "aggs": {"n": {"avg": {"field": "n"}}},
    "min_score": 0.5,
    "ext": {"rerank": {"language": "en", "window_size": 7}, "other": {"a": 1}},
}


def hits(received: Received) -> bytes:
    found = [
        {"_index": "pages", "_id": str(n), "_score": 9.0 - n, "_source": {"body": text}}
        for n, text in enumerate(["dog", "cat", "bread"])
    ]
    return ok(json.dumps({"took": 1, "hits": {"hits": found}}).encode())


@pytest.fixture
def key(tmp_path: Path) -> str:
    return add_key(tmp_path / "keys", "shop")


@pytest.fixture
def client(fake: FakeEngine, embeddings: Embeddings, key: str, tmp_path: Path) -> Iterator[FlaskClient]:
    settings = Settings(
        home=tmp_path,
        threads=1,
        store=fake.url,
        api_keys=tmp_path / "keys",
        proxy_learn_weights=False,
        proxy_budget_ms=60_000,
    )
    with closing(open_store(fake.url)) as store:
        yield create_app(settings, store, embeddings).test_client()


def explain(client: FlaskClient, key: str, status: int, doc_id: str = "0", search: Any = SEARCH) -> dict[str, Any]:
    headers = {"X-Api-Key": key, "Authorization": ENGINES, "Accept": "text/html", "Content-Type": "text/plain"}
    body = json.dumps({"index": "pages", "id": doc_id, "search": search})
    response = client.post("/v1/explain", data=body, headers=headers)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.get_json()
    return answer


def test_the_engine_gets_the_callers_search_and_credentials_and_no_key(
    fake: FakeEngine, client: FlaskClient, key: str
) -> None:
    fake.answer = hits
    assert explain(client, key, 200)["document"]["text"] == "dog"
    sent = [received for received in fake.received if received.line.startswith("POST /pages/_search?")]
    assert [json.loads(received.body) for received in sent] == [
        {
            "query": {"match": {"body": "cat"}},
            "min_score": 0.5,
            "ext": {"other": {"a": 1}},
            "from": 0,
            "size": 7,
            "seq_no_primary_term": True,
        }
    ]
    assert {received.header("authorization") for received in sent} == {ENGINES}
    assert {received.header("content-type") for received in sent} == {"application/json"}
    assert not any(received.header("x-api-key") for received in fake.received)


def test_a_search_of_a_point_in_time_stays_in_it(fake: FakeEngine, client: FlaskClient, key: str) -> None:
    """The engines take no index beside it, and `_shard_doc` with it alone."""
    fake.answer = hits
    search = SEARCH | {"pit": {"id": "a"}, "sort": ["_score", "_shard_doc"]}
    assert explain(client, key, 200, search=search)["document"]["text"] == "dog"
    sent = [received for received in fake.received if received.line.startswith("POST /_search")]
    assert [json.loads(received.body)["pit"] for received in sent] == [{"id": "a"}]


@pytest.mark.parametrize(
    ("answered", "status", "code", "told"),
    [
        (401, 401, "unauthenticated", "the engine refuses the credentials (401: missing: no rights)"),
        (403, 403, "not_allowed", "the engine refuses the credentials (403: missing: no rights)"),
        (404, 404, "not_found", "the engine has no such index (404: missing: no rights)"),
        (429, 429, "rejected_execution_exception", "the engine has too much to do"),
        (503, 503, "store_unavailable", "the engine failed (503: missing: no rights)"),
        (400, 400, "bad_input", "send it as a search to see what is wrong with it"),
    ],
)
def test_an_error_of_the_engine_comes_back_as_one(
    fake: FakeEngine, client: FlaskClient, key: str, answered: int, status: int, code: str, told: str
) -> None:
    error = {"error": {"type": "missing", "reason": "no rights"}, "status": answered}
    fake.answer = lambda received: ok(json.dumps(error).encode()).replace(b"200 OK", f"{answered} No".encode())
    problem = explain(client, key, status)
    assert problem["code"] == code
    assert told in problem["detail"]


def test_an_answer_that_is_none_and_an_empty_one(fake: FakeEngine, client: FlaskClient, key: str) -> None:
    fake.answer = lambda received: ok(b"<html>")
    assert "(answer_not_json)" in explain(client, key, 503)["detail"]
    fake.answer = lambda received: ok(b'{"took": 1, "hits": {"hits": []}}')
    assert "the searched indices hold no document '0'" in explain(client, key, 404)["detail"]


def test_a_search_of_the_engine_needs_one(embeddings: Embeddings, tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "store"))) as store:
        client = create_app(Settings(home=tmp_path, store=str(tmp_path / "store")), store, embeddings).test_client()
        problem = client.post("/v1/explain", json={"index": "pages", "id": "0", "search": SEARCH}).get_json()
    assert problem["detail"].startswith("'search' is for an engine, and the store is a folder")
