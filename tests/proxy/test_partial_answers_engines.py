"""Windows that the engine answers without some of their shards."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3

from tests.support.calls import BY_CHAT, WORDS, chat, hits, multi_search, ndjson, post, words
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]


def fill(http: urllib3.PoolManager, url: str, index: str, texts: list[str]) -> None:
    lines = [line for n, text in enumerate(texts) for line in ({"index": {"_id": str(n)}}, {"body": text})]
    headers = {"Content-Type": "application/x-ndjson"}
    answer = http.request("POST", f"{url}/{index}/_bulk?refresh=true&timeout=1s", body=ndjson(*lines), headers=headers)
    assert answer.status == 200, answer.data


def shown(answer: Any) -> list[tuple[str, float, Any]]:
    return [(hit["_id"], hit["_score"], hit["highlight"]) for hit in hits(answer)]


def test_a_hit_of_the_window_that_breaks_its_shard_takes_no_hit_from_the_callers_page(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    """The last one is too long to be highlighted, and all hits of its shard are lost with it."""
    settings = {"number_of_shards": 3, "number_of_replicas": 0, "highlight.max_analyzed_offset": 200}
    http.request("PUT", f"{engine.url}/{index_name}", json={"settings": settings})
    fill(http, engine.url, index_name, ["cat dog"] * 20 + ["cat " + "bread " * 100])
    body = {"query": {"match": {"body": "cat"}}, "highlight": {"fields": {"body": {}}}, "size": 5}
    direct = post(http, f"{engine.url}/{index_name}/_search", body)
    assert (len(hits(direct)), direct.json()["_shards"]["failed"]) == (5, 0)
    answer = post(http, f"{url}/{index_name}/_search", body)
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("fallback", "engine_refused")
    assert shown(answer) == shown(direct)
    several = multi_search(http, f"{url}/{index_name}/_msearch", {}, body, {}, {**body, "highlight": {"fields": {}}})
    first, second = several.json()["responses"]
    assert several.headers["X-Rerank-Reason"] == "applied=1, engine_refused=1"
    assert shown(first) == shown(direct)
    assert (len(hits(second)), second["_shards"]["failed"]) == (5, 0)


def test_what_is_left_of_an_index_without_one_of_its_shards_is_re_ranked(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    """The engine's own page lacks the same hits."""
    n_nodes = http.request("GET", f"{engine.url}/_cluster/health").json()["number_of_data_nodes"]
    lost = {"number_of_shards": n_nodes + 1, "number_of_replicas": 0, "routing.allocation.total_shards_per_node": 1}
    http.request("PUT", f"{engine.url}/{index_name}?wait_for_active_shards=0", json={"settings": lost})
    fill(http, engine.url, index_name, WORDS)
    body = {"query": {"match_all": {}}, "size": len(WORDS)}
    direct = post(http, f"{engine.url}/{index_name}/_search", body)
    shards = direct.json()["_shards"]
    assert (shards["total"], shards["successful"]) == (n_nodes + 1, n_nodes)
    found = set(words(direct))
    assert 1 < len(found) < len(set(WORDS))
    answer = post(http, f"{url}/{index_name}/_search", {**body, "ext": chat()})
    assert (answer.headers["X-Rerank-Status"], answer.json()["_shards"]) == ("applied", shards)
    assert words(answer) == [word for word in BY_CHAT if word in found]
