"""The proxy in front of real engines: what it re-ranks, and what it leaves as it is."""

import math
from typing import Any

import pytest
import urllib3

from tests.support.calls import BY_CHAT, WORDS, chat, hits, make_index, post
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.engine


def bodies(answer: urllib3.BaseHTTPResponse) -> list[str]:
    assert answer.status == 200, answer.data
    return [hit["_source"]["parts"]["body"] for hit in answer.json()["hits"]["hits"]]


def test_hits_of_a_foreign_index_are_put_in_the_order_of_their_words(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str
) -> None:
    body = {"query": {"match_all": {}}, "ext": chat()}
    answer = post(http, f"{url}/{foreign}/_search", body)
    assert bodies(answer) == BY_CHAT
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert "rerank;dur=" in answer.headers["Server-Timing"]
    hits = answer.json()["hits"]
    scores = [hit["_score"] for hit in hits["hits"]]
    assert scores[0] == hits["max_score"] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == 0.02
    assert b"e-" not in answer.data
    direct = post(http, f"{engine.url}/{foreign}/_search", {"query": {"match_all": {}}}).json()
    assert hits["total"] == direct["hits"]["total"]
    assert {hit["_id"]: hit["_source"] for hit in hits["hits"]} == {
        hit["_id"]: hit["_source"] for hit in direct["hits"]["hits"]
    }


def test_the_proxy_and_our_search_agree(http: urllib3.PoolManager, url: str, ours: str) -> None:
    ranked = post(http, f"{url}/v1/search", {"query": "chat", "language": "fr", "index": ours, "method": "emd"}).json()
    answer = post(http, f"{url}/{ours}/_search", {"query": {"match_all": {}}, "ext": chat()}).json()
    expected = {hit["id"]: hit["score"] for hit in ranked["hits"]}
    found = {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=2e-6)
    assert len(expected) == 4


def test_a_search_with_a_large_body_is_passed_on(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    body = {"query": {"bool": {"must": {"match": {"parts.body": "dog"}}, "filter": {"terms": {"n": [2] * 60_000}}}}}
    answer = post(http, f"{url}/{foreign}/_search", body)
    assert answer.headers.get("X-Rerank-Reason") == "body_too_large", answer.data[:600]
    assert bodies(answer) == ["dog"]


def test_a_walk_with_knn_without_k_holds_what_the_engine_finds_each_hit_once(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    """Elasticsearch's `k` is then the page's size, however large the window is."""
    if engine.distribution == "opensearch":
        pytest.skip("OpenSearch has no `knn` beside the query")
    documents = [{"n": n, "body": WORDS[n % len(WORDS)], "v": [math.cos(n), math.sin(n)]} for n in range(60)]
    properties = {"v": {"type": "dense_vector", "dims": 2, "similarity": "cosine"}, "n": {"type": "integer"}}
    make_index(http, engine.url, index_name, properties, documents)
    body: dict[str, Any] = {"query": {"match": {"body": "cat dog"}}, "sort": ["_score", "n"], "size": 7}
    body |= {"knn": {"field": "v", "query_vector": [1, 0], "boost": 0.1}, "track_total_hits": True}

    def walk(where: str, by_hit: bool) -> tuple[list[str], set[int]]:
        seen: list[str] = []
        totals = set()
        page: dict[str, Any] = {}
        while True:
            answer = post(http, f"{where}/{index_name}/_search", {**body, **page})
            assert answer.status == 200, answer.data
            assert answer.headers.get("X-Rerank-Status", "applied") == "applied"
            totals.add(answer.json()["hits"]["total"]["value"])
            if not hits(answer):
                return seen, totals
            seen += [hit["_id"] for hit in hits(answer)]
            page = {"search_after": hits(answer)[-1]["sort"]} if by_hit else {"from": len(seen)}

    direct, totals = walk(engine.url, by_hit=True)
    assert len(direct) == len(set(direct)) == max(totals) < 60
    for by_hit in (True, False):
        found, found_totals = walk(url, by_hit)
        assert (sorted(found), found_totals) == (sorted(direct), totals)
