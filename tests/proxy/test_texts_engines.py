"""Where the words of a hit come from: any index, with its text in hand, looked up, or kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from reranker.proxy import Proxy
from tests.support.calls import BY_CHAT, WORDS, chat, hits, make_index, ndjson, post, words
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

EVERY = {"query": {"match_all": {}}, "size": len(WORDS)}


class Spied:
    """Counts the requests that the proxy makes for its callers, by the last part of their paths."""

    def __init__(self, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        send: Callable[..., Any] = type(proxy.upstream).send

        def noted(upstream: Any, method: str, target: str, *more: Any, **named: Any) -> Any:
            if not named.get("as_service"):
                self.paths.append(target.split("?")[0].rsplit("/", 1)[-1])
            return send(upstream, method, target, *more, **named)

        monkeypatch.setattr(type(proxy.upstream), "send", noted)

    def taken(self) -> list[str]:
        paths, self.paths = self.paths, []
        return paths


@pytest.fixture
def spied(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Spied:
    return Spied(proxy, monkeypatch)


def test_our_own_index_takes_one_round_trip_and_one_more_where_a_filter_keeps_bags_back(
    http: urllib3.PoolManager, url: str, ours: str, spied: Spied
) -> None:
    orders = []
    for n, source in enumerate([False, True, ["title"], {"excludes": ["bag"]}, {"excludes": ["nbow"]}]):
        body = {"query": {"match_all": {}}, "_source": source, "ext": chat(text_fields=["text"])}
        # Of another caller nothing is cached.
        answer = post(http, f"{url}/{ours}/_search", body, Authorization=f"Basic b25{n}")
        assert answer.headers["X-Rerank-Status"] == "applied"
        assert spied.taken() == ["_search"] * (1 if source in (True, {"excludes": ["nbow"]}) else 2)
        orders.append([(hit["_id"], hit["_score"]) for hit in hits(answer)])
    assert all(order == orders[0] for order in orders)


def test_a_text_that_is_kept_back_is_looked_up_once(
    http: urllib3.PoolManager, engine: Engine, url: str, own_foreign: str, spied: Spied
) -> None:
    body = {**EVERY, "_source": False, "ext": chat()}
    assert words(post(http, f"{url}/{own_foreign}/_search", body)) == BY_CHAT
    assert spied.taken() == ["_search", "_search"]
    assert words(post(http, f"{url}/{own_foreign}/_search", body)) == BY_CHAT
    assert spied.taken() == ["_search"]
    # Written anew, the document is another; the others are still known.
    changed = {"parts": {"body": "chat"}}
    http.request("PUT", f"{engine.url}/{own_foreign}/_doc/0?refresh=true", json=changed)
    found = [hit["_id"] for hit in hits(post(http, f"{url}/{own_foreign}/_search", body))]
    assert spied.taken() == ["_search", "_search"]
    assert set(found[:2]) == {"0", str(WORDS.index("chat"))}


def test_what_one_caller_may_read_is_not_kept_for_another(
    http: urllib3.PoolManager, url: str, foreign: str, spied: Spied
) -> None:
    body = {**EVERY, "_source": False, "ext": chat()}
    for credentials in ("Basic b25l", "Basic dHdv"):
        post(http, f"{url}/{foreign}/_search", body, Authorization=credentials)
        assert spied.taken() == ["_search", "_search"]
    post(http, f"{url}/{foreign}/_search", body, Authorization="Basic b25l")
    assert spied.taken() == ["_search"]


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        (["front"], ["2", "1", "0"]),
        (["back"], ["0", "1", "2"]),
        (["b*k"], ["0", "1", "2"]),
        (["deep.*"], ["1", "2", "0"]),
        (["*"], None),
    ],
)
@pytest.mark.parametrize("source", [True, False, ["front", "back", "deep"]])
def test_the_fields_of_the_text_are_named_in_the_request(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str, fields: list[str], order: Any, source: Any
) -> None:
    documents = [
        {"front": "bread", "back": "chat", "deep": {"er": {"text": "water"}}},
        {"front": "car", "back": "dog", "deep": {"er": {"text": "chat"}}},
        {"front": "chat", "back": "bread", "deep": {"er": {"text": "dog"}}},
    ]
    make_index(http, engine.url, index_name, {}, documents)
    body = {"query": {"match_all": {}}, "_source": source, "ext": chat(text_fields=fields)}
    answer = post(http, f"{url}/{index_name}/_search", body)
    assert answer.headers["X-Rerank-Status"] == "applied"
    if order is not None:
        assert [hit["_id"] for hit in hits(answer)] == order


def test_an_index_without_a_source_keeps_the_engines_order_and_hinders_no_other(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    make_index(http, engine.url, index_name, {"text": {"type": "text"}}, [{"text": "chat"}], _source={"enabled": False})
    answer = post(http, f"{url}/{index_name}/_search", {**EVERY, "ext": chat()})
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("fallback", "no_text_in_hits")
    assert [hit["_id"] for hit in hits(answer)] == ["0"]
    with_source = f"{index_name}-kept"
    make_index(http, engine.url, with_source, {"text": {"type": "text"}}, [{"text": "bread"}, {"text": "chat"}])
    try:
        path = f"{url}/{index_name},{with_source}/_search"
        for source in (True, False):  # whether the texts are in the window, or are looked up
            answer = post(http, path, {**EVERY, "ext": chat(), "_source": source})
            assert answer.headers["X-Rerank-Status"] == "applied"
            assert (hits(answer)[0]["_index"], hits(answer)[0]["_id"]) == (with_source, "1")
    finally:
        http.request("DELETE", f"{engine.url}/{with_source}")


@pytest.mark.parametrize("source", [True, False])
def test_a_page_whose_title_is_the_query_goes_before_one_of_the_same_words(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str, source: bool
) -> None:
    """To the engine both titles are one, so their scores are equal; by transport alone the first page, whose text is
    about dogs, would be the nearer one."""
    documents = [{"title": "Dog, cat", "text": "dog " * 40}, {"title": "Cat dog", "text": "bread " * 40}]
    make_index(http, engine.url, index_name, {"title": {"type": "text"}, "text": {"type": "text"}}, documents)
    body = {
        "query": {"multi_match": {"query": "cat dog", "fields": ["title^5", "text"], "type": "cross_fields"}},
        "_source": source,
        "ext": {"rerank": {"language": "en", "details": True}},
    }
    for _ in range(2):  # once more from the cache
        found = hits(post(http, f"{url}/{index_name}/_search", body))
        assert [hit["_id"] for hit in found] == ["1", "0"]
        assert len({hit["_rerank"]["first_stage_score"] for hit in found}) == 1


def by_source(http: urllib3.PoolManager, url: str, body: dict[str, Any]) -> list[list[Any]]:
    """The hits of a search, in their order, with and without their texts: index, routing, word."""
    body = {**body, "size": 50, "ext": chat(text_fields=["body"])}
    answers = [post(http, url, {**body, "_source": source}) for source in (True, False, ["tenant"])]
    assert [answer.headers["X-Rerank-Status"] for answer in answers] == ["applied"] * 3
    return [[(hit["_index"], hit.get("_routing"), WORDS[int(hit["_id"])]) for hit in hits(one)] for one in answers]


def test_a_text_is_looked_up_in_the_index_of_its_hit_where_others_have_the_same_ids(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    names = [f"{index_name}-{n}" for n in range(5)]
    try:
        for name in names:  # the first ones are asked first
            texts = WORDS if name in names[3:] else ["qqq"] * len(WORDS)
            make_index(http, engine.url, name, {}, [{"body": text} for text in texts])
        query = {"bool": {"must_not": {"match": {"body": "qqq"}}}}
        whole, *looked_up = by_source(http, f"{url}/{index_name}-*/_search", {"query": query})
    finally:
        for name in names:
            http.request("DELETE", f"{engine.url}/{name}")
    assert looked_up == [whole, whole]
    assert {word for _, _, word in whole[:2]} == {"chat"}
    assert len(whole) == 2 * len(WORDS)


def test_a_text_is_looked_up_by_its_routing_where_tenants_have_the_same_ids(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    settings = {"number_of_shards": 3, "number_of_replicas": 0}
    mappings = {"_routing": {"required": True}, "properties": {"tenant": {"type": "keyword"}}}
    http.request("PUT", f"{engine.url}/{index_name}", json={"settings": settings, "mappings": mappings})
    lines: list[Any] = []
    for tenant in ("a", "b", "c", "d", "e", "f"):  # in each shard an id stays with the last one
        for n, word in enumerate(WORDS):
            lines += [{"index": {"_id": str(n), "routing": tenant}}, {"body": word, "tenant": tenant}]
    headers = {"Content-Type": "application/x-ndjson"}
    http.request("POST", f"{engine.url}/{index_name}/_bulk?refresh=true", body=ndjson(*lines), headers=headers)
    every = post(http, f"{engine.url}/{index_name}/_search", {"size": 100})
    tenants = sorted({hit["_routing"] for hit in hits(every)})
    assert len(tenants) == 3
    for some in (tenants, tenants[:2], tenants[2:]):
        query = {"bool": {"filter": {"terms": {"tenant": some}}}}
        whole, *looked_up = by_source(http, f"{url}/{index_name}/_search", {"query": query})
        assert looked_up == [whole, whole]
        assert {word for _, _, word in whole[: len(some)]} == {"chat"}
        assert len(whole) == len(some) * len(WORDS)
