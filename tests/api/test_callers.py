"""With whose credentials a fake engine is asked, and what the log says at the start."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import IndexDescription, Store
from reranker.traffic.file import Shadowed, TrafficFile
from tests.stores.fake_engine import FakeEngine, serve
from tests.support.service import serving

SERVICE = "Basic c2VydmljZTpzZWNyZXQ="  # service:secret
NO_HITS = {"hits": {"hits": []}}
CALLER = "Bearer token-of-a-caller"


@contextmanager
def engine(
    embeddings: Embeddings, forbidden: str | None = None, found: Any = NO_HITS
) -> Iterator[tuple[FakeEngine, Store, list[tuple[str, str]]]]:
    """An engine with an index `docs` without documents, and what it was asked: path, credentials.

    Args:
        forbidden: a path that nobody may ask.
        found: the answer to a search.
    """
    asked: list[tuple[str, str]] = []
    meta = {"docs": {"mappings": {"_meta": IndexDescription(embeddings.version, embeddings.dim).as_meta()}}}
    languages = {"languages": {"buckets": [{"key": "en", "doc_count": 1}]}}

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        asked.append((path.partition("?")[0], node.headers[-1].get("authorization", "")))
        if path == forbidden:
            return 403, {"error": {"type": "security_exception", "reason": "no permissions for User [name=service]"}}
        if path == "/":
            return 200, {"version": {"distribution": "opensearch", "number": "2.19.1"}}
        if "_mget" in path:
            return 200, {"docs": [{"found": False}]}
        if "_search" in path:
            return 200, {"hits": {"hits": []}, "aggregations": languages} if "aggs" in body else found
        if "_count" in path:
            return 200, {"count": 1}
        return 200, meta

    with serve(answer) as node:
        store = open_store(node.address, username="service", password="secret")
        yield node, store, asked
        store.close()


@pytest.mark.parametrize(
    ("path", "body", "reads"),
    [
        ("/v1/search", {"size": 3}, {"/docs/_search"}),
        ("/v1/search", {"first_stage": "bm25"}, {"/docs/_search"}),
        ("/v1/explain", {"id": "1"}, {"/docs/_mget"}),
        ("/v1/rerank", {"documents": ["cat"]}, {"/docs/_count"}),
    ],
)
def test_documents_are_read_with_the_callers_credentials_and_figures_with_the_services(
    embeddings: Embeddings, path: str, body: dict[str, Any], reads: set[str]
) -> None:
    with engine(embeddings) as (node, store, asked):
        settings = Settings(store=node.address, store_username="service", threads=1)
        client = create_app(settings, store, embeddings).test_client()
        sent = {"query": "cat", "language": "en", "index": "docs", **body}
        answer = client.post(path, json=sent, headers={"Authorization": CALLER})
    assert answer.status_code in (200, 404), answer.text
    assert {path for path, who in asked if who == CALLER} == reads
    assert {who for _, who in asked} == {CALLER, SERVICE}
    assert ("/sinkrank-idf/_mget", SERVICE) in asked


def test_credentials_of_one_request_are_not_those_of_the_next(embeddings: Embeddings) -> None:
    with engine(embeddings) as (node, store, asked):
        settings = Settings(store=node.address, store_username="service", callers_without_credentials="service_rights")
        client = create_app(settings, store, embeddings).test_client()
        sent = {"query": "cat", "language": "en", "index": "docs"}
        client.post("/v1/search", json=sent, headers={"Authorization": CALLER})
        del asked[:]
        assert client.post("/v1/search", json=sent).status_code == 200
        store.indices()
    assert {who for _, who in asked} == {SERVICE}


@pytest.mark.parametrize(
    ("name", "passed_on"),
    [
        ("es-security-runas-user", "anna"),
        ("opendistro_security_impersonate_as", "anna"),
        ("Opendistro-Security-Impersonate-As", None),  # OpenSearch knows no such header
    ],
)
def test_a_user_who_acts_as_another_does_so_at_the_engine_too(
    embeddings: Embeddings, name: str, passed_on: str | None
) -> None:
    with engine(embeddings) as (node, store, _):
        app = create_app(Settings(store=node.address, threads=1), store, embeddings)
        sent = {"query": "cat", "language": "en", "index": "docs"}
        with serving(app) as url:
            headers = {"Authorization": CALLER, name: "anna"}
            assert urllib3.request("POST", f"{url}/v1/search", json=sent, headers=headers).status == 200
        as_caller = [one for one in node.headers if one.get("authorization") == CALLER]
    assert as_caller
    assert all(one.get(name.lower()) == passed_on for one in as_caller)
    assert passed_on or not any("impersonate" in key for one in as_caller for key in one)


def test_an_engine_that_asks_nobody_who_he_is_is_searched_by_all(embeddings: Embeddings) -> None:
    with engine(embeddings) as (node, store, _):
        client = create_app(Settings(store=node.address, threads=1), store, embeddings).test_client()
        assert client.post("/v1/search", json={"query": "cat", "index": "docs"}).status_code == 200


def test_a_stranger_does_not_learn_which_indices_there_are(embeddings: Embeddings) -> None:
    with engine(embeddings) as (node, store, asked):
        client = create_app(Settings(store=node.address, store_api_key="abc"), store, embeddings).test_client()
        for index in ("docs", "none", "docs-000001", None):
            answer = client.post("/v1/search", json={"query": "cat", "index": index})
            assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthenticated")
            assert answer.headers["WWW-Authenticate"].startswith("Basic ")
        assert asked == []


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({"host": "0.0.0.0"}, logging.WARNING),
        ({"host": "127.0.0.1"}, logging.INFO),
        ({"host": "localhost"}, logging.INFO),
        ({"host": "0.0.0.0", "store_username": None}, None),
        ({"host": "0.0.0.0", "callers_without_credentials": "refuse"}, None),
        ({"host": "0.0.0.0", "store": "folder"}, None),
    ],
)
def test_who_is_lent_the_services_rights_is_said_at_the_start(
    embeddings: Embeddings, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], level: int | None
) -> None:
    given = {"store": "https://127.0.0.1:9", "store_username": "service"} | {
        "callers_without_credentials": "service_rights",
        **changes,
    }
    with caplog.at_level(logging.INFO, logger="reranker"):
        create_app(Settings(**given), None, embeddings)
    said = [record.levelno for record in caplog.records if "service's own rights" in record.message]
    assert said == ([] if level is None else [level])


def test_a_refusal_of_the_services_own_user_is_not_the_callers(embeddings: Embeddings) -> None:
    """Else he would be told to ask for a right that he has, and the name of the service's user."""
    with engine(embeddings, forbidden="/") as (node, store, _):
        client = create_app(Settings(store=node.address, store_username="service"), store, embeddings).test_client()
        sent = {"query": "cat", "language": "en", "index": "docs"}
        answer = client.post("/v1/search", json=sent, headers={"Authorization": CALLER})
    assert (answer.status_code, answer.get_json()["code"]) == (503, "store_unavailable")


def test_the_page_shows_traffic_to_those_whom_the_route_answers(tmp_path: Path) -> None:
    TrafficFile(tmp_path).create()
    settings = Settings(home=tmp_path, store="http://127.0.0.1:9", store_username="u", store_password="p")
    client = create_app(settings, None, None).test_client()
    for headers, status in (({}, 401), ({"Authorization": "Basic dTpw"}, 200)):
        assert client.get("/v1/traffic", headers=headers).status_code == status
        assert ("Live searches" in client.get("/-/ui", headers=headers).text) == (status == 200)


def test_no_route_gives_the_texts_of_other_callers_queries(tmp_path: Path) -> None:
    """No engine has checked the credentials that come with the request."""
    file = TrafficFile(tmp_path)
    file.create()
    file.add_shadowed([Shadowed("applied", has_new_page=True, change=1.0, query="confidential")], {})
    settings = Settings(home=tmp_path, store="http://127.0.0.1:9", store_username="u", store_password="p")
    client = create_app(settings, None, None).test_client()
    for path in ("/v1/traffic", "/-/ui"):
        answer = client.get(path, headers={"Authorization": "Basic invented"})
        assert answer.status_code == 200
        assert "confidential" not in answer.text
    assert client.get("/v1/traffic", headers={"Authorization": "Basic invented"}).get_json()["n_ranked"] == 1
