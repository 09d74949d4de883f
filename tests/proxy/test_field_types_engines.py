"""Queries on real engines, whose mappings say which fields hold text, and where their texts lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from tests.proxy.conftest import named_index
from tests.support.calls import WORDS, hits, make_index, post
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

PROPERTIES = {
    "title": {"type": "text", "copy_to": "all", "fields": {"keyword": {"type": "keyword"}, "en": {"type": "text"}}},
    "all": {"type": "text"},
    "heading": {"type": "alias", "path": "title"},
    "typed": {"type": "search_as_you_type"},
    "kind": {"type": "keyword"},
    "day": {"type": "date"},
    "part": {"properties": {"title": {"type": "text"}}},
    "parts": {"type": "nested", "properties": {"title": {"type": "text"}}},
    "note": {"type": "text"},
}


@pytest.fixture(scope="module")
def index(engine: Engine) -> Iterator[str]:
    """Each word in the fields of text, and the same words in the `note` of every document."""
    documents = [
        {
            "title": f"chat {text}" if n == 3 else f"{text} any",
            "typed": f"{text} any",
            "kind": "chat",
            "labels": {"env": "chat"},
            "part": {"title": f"{text} any"},
            "parts": [{"title": f"{text} any"}],
            "note": "water bread",
        }
        for n, text in enumerate(WORDS)
    ]
    properties = dict(PROPERTIES)
    if engine.distribution == "opensearch":
        properties |= {"labels": {"type": "flat_object"}}
    else:  # the modules with these two types are not in Elasticsearch's server alone
        properties |= {"labels": {"properties": {"env": {"type": "keyword"}}}, "typed": {"type": "text"}}
    with named_index(engine.url) as name, urllib3.PoolManager(retries=False) as http:
        make_index(http, engine.url, name, properties, documents)
        yield name


def status(answer: urllib3.BaseHTTPResponse) -> tuple[str | None, str | None]:
    assert answer.status == 200, answer.data
    return answer.headers.get("X-Rerank-Status"), answer.headers.get("X-Rerank-Reason")


@pytest.mark.parametrize(
    "field", ["title", "title.en", "heading", "all", "typed", "part.title", "title^3", "ti*", "title.*"]
)
def test_a_field_of_text_is_searched_and_read(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, field: str
) -> None:
    body = {"query": {"multi_match": {"query": "any chat", "fields": [field]}}, "size": len(WORDS)}
    answer = post(http, f"{url}/{index}/_search", {**body, "_source": False})
    assert status(answer) == ("applied", None)
    direct = post(http, f"{engine.url}/{index}/_search", body)
    assert {hit["_id"] for hit in hits(answer)} == {hit["_id"] for hit in hits(direct)}


@pytest.mark.parametrize(
    "query",
    [
        {"match": {"kind": "chat"}},
        {"match": {"title.keyword": "chat any"}},
        {"match": {"labels.env": "chat"}},
        {"match": {"labels.env.keyword": "chat"}},
        {"match": {"nothing": "chat"}},
        {"query_string": {"query": "kind:chat"}},
    ],
)
def test_a_match_on_a_field_without_text_keeps_the_engines_order(
    http: urllib3.PoolManager, url: str, index: str, query: Any
) -> None:
    assert status(post(http, f"{url}/{index}/_search", {"query": query})) == ("skipped", "filter_only")


def test_a_query_in_the_url_is_read_by_the_mapping(http: urllib3.PoolManager, url: str, index: str) -> None:
    assert status(http.request("GET", f"{url}/{index}/_search?q=kind:chat")) == ("skipped", "filter_only")
    assert status(http.request("GET", f"{url}/{index}/_search?q=kind:chat+AND+title:chat")) == ("applied", None)
    assert status(http.request("GET", f"{url}/_search?q=kind:chat")) == ("skipped", "filter_only")


@pytest.mark.parametrize("where", ["alias", "wildcard", "list"])
def test_an_alias_or_several_indices_are_read_like_one(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, where: str
) -> None:
    http.request("PUT", f"{engine.url}/{index}/_alias/{index}-alias")
    names = {"alias": f"{index}-alias", "wildcard": f"{index}*", "list": f"{index},{index}-missing"}
    target = f"{url}/{names[where]}/_search?ignore_unavailable=true"
    assert status(post(http, target, {"query": {"match": {"kind": "chat"}}})) == ("skipped", "filter_only")
    assert status(post(http, target, {"query": {"match": {"title": "chat any"}}})) == ("applied", None)
