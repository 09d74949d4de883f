"""Judged queries go through the proxy as a caller's searches do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reranker.base.errors import BadInput, NotFound, StoreUnavailable, Unauthenticated
from reranker.proxy import Proxy
from reranker.service.settings import Settings
from reranker.stores.engine.store import EngineStore
from sinkrank.actions.in_process_proxy import proxy_of
from sinkrank.console.resources import opened_store
from sinkrank.evaluation.comparison import Way
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.proxy_way import FIRST_STAGE, ProxyIndex, ProxySearches
from sinkrank.evaluation.query_template import QueryTemplate
from tests.support.fake_engine import FakeEngine, Received, fake_engine, ok
from tests.support.tiny import tiny_embeddings

TEXTS = ["bread", "car", "dog", "cat"]
TEMPLATE = QueryTemplate({"query": {"match": {"body": "{{text}}"}}, "from": 3, "size": 1})
NONE = Way("none", "none", FIRST_STAGE)
RWMD = Way("rwmd", "rwmd", FIRST_STAGE)


def query(query_id: str, text: str, **more: Any) -> JudgedQuery:
    return JudgedQuery(query_id, text, more.get("language"), more.get("languages", ()), more.get("index"), {"3": 1})


def page(received: Received) -> bytes:
    """An engine that finds all texts, in their order."""
    found = [
        {"_index": "pages", "_id": str(n), "_score": 9.5 - n, "_source": {"body": text}} for n, text in enumerate(TEXTS)
    ]
    return ok(json.dumps({"took": 3, "hits": {"total": {"value": 4}, "max_score": 9.5, "hits": found}}).encode())


@pytest.fixture
def fake() -> Iterator[FakeEngine]:
    with fake_engine() as fake:
        fake.answer = page
        yield fake


@pytest.fixture
def proxy(fake: FakeEngine, tmp_path: Path) -> Iterator[Proxy]:
    settings = Settings(home=tmp_path, threads=1, store=fake.url, proxy_budget_ms=60_000, proxy_learn_weights=False)
    with opened_store(settings) as store:
        assert isinstance(store, EngineStore)
        yield proxy_of(settings, store, tiny_embeddings(tmp_path / "embeddings"))


@pytest.fixture
def searches(proxy: Proxy) -> ProxySearches:
    return ProxySearches(ProxyIndex(proxy, "pages", TEMPLATE, {"authorization": "Basic bWU6c2VjcmV0"}))


def sent(fake: FakeEngine) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(fake.received[-1].body)
    return body


def test_the_engine_gets_the_callers_query_and_credentials(fake: FakeEngine, searches: ProxySearches) -> None:
    searches.run(NONE, [query("q", 'say "cat"', index="others")])
    assert fake.received[-1].line == "POST /others/_search HTTP/1.1"
    assert fake.received[-1].header("authorization") == "Basic bWU6c2VjcmV0"
    # The page of the template is not what is measured.
    assert sent(fake) == {"query": {"match": {"body": 'say "cat"'}}, "from": 0, "size": 100}


def test_the_templates_own_extension_is_kept(fake: FakeEngine, proxy: Proxy) -> None:
    ext = {"rerank": {"text_fields": ["title"], "method": "emd", "window_size": 7}, "other": {"key": 1}}
    searches = ProxySearches(ProxyIndex(proxy, "pages", QueryTemplate({**TEMPLATE.body, "ext": ext}), {}))
    searches.run(NONE, [query("q", "cat")])
    assert sent(fake)["ext"] == {"other": {"key": 1}}
    searches.run(RWMD, [query("q", "cat")])
    assert sent(fake)["ext"] == {"other": {"key": 1}}
    assert searches.outcomes["rwmd"] == {"fallback no_text_in_hits": 1}  # the hits have no title


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (400, BadInput, "query 'q' is refused .*parsing_exception: unknown query.*change the template"),
        (401, Unauthenticated, "store_username"),
        (404, NotFound, "no such index.*check its name"),
        (503, StoreUnavailable, "its log says why"),
    ],
)
@pytest.mark.parametrize("way", [NONE, RWMD])
def test_an_error_of_the_engine_names_the_cure(
    fake: FakeEngine, searches: ProxySearches, way: Way, status: int, error: type[Exception], told: str
) -> None:
    body = json.dumps({"error": {"type": "parsing_exception", "reason": "unknown query"}, "status": status}).encode()
    fake.answer = lambda received: ok(body).replace(b"200 OK", f"{status} No".encode())
    with pytest.raises(error, match=told):
        searches.run(way, [query("q", "cat")])


def test_a_wrong_key_of_the_templates_extension_is_named(proxy: Proxy) -> None:
    template = QueryTemplate({**TEMPLATE.body, "ext": {"rerank": {"windowsize": 7}}})
    with pytest.raises(BadInput, match=r"ext\.rerank: .windowsize. is not a key"):
        ProxySearches(ProxyIndex(proxy, "pages", template, {})).run(RWMD, [query("q", "cat")])


def test_a_query_for_documents_of_some_languages_needs_a_filter(searches: ProxySearches) -> None:
    with pytest.raises(BadInput, match="put a filter into the template"):
        searches.run(NONE, [query("q", "cat", languages=("fr",))])
