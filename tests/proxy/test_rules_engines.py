"""Each rule of docs/http.md on real engines: a re-ranked answer is the direct one in another order, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import urllib3

from tests.proxy.conftest import named_index
from tests.support.calls import BY_CHAT, WORDS, chat, hits, make_index, post, words
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

PROPERTIES = {
    "body": {"type": "text", "store": True},
    "kind": {"type": "keyword"},
    "n": {"type": "integer"},
    "day": {"type": "date"},
    "parts": {"type": "nested", "properties": {"name": {"type": "keyword"}}},
    "typed": {"type": "completion"},
}
EVERY = {"query": {"match": {"all": "qqq"}}}
NESTED = {"nested": {"path": "parts", "query": {"match_all": {}}, "inner_hits": {}}}


@pytest.fixture(scope="module")
def index(engine: Engine) -> Iterator[str]:
    documents = [
        {
            "n": n,
            "body": text,
            "all": "qqq " + "rrr " * n,
            "kind": f"k{n}",
            "day": f"2026-01-{n + 1:02}",
            "parts": [{"name": "a"}, {"name": "b"}],
            "typed": text,
            "list": [],
            "empty": {},
            "price": 1.50,
        }
        for n, text in enumerate(WORDS)
    ]
    with named_index(engine.url) as name, urllib3.PoolManager(retries=False) as http:
        make_index(http, engine.url, name, PROPERTIES, documents)
        yield name


def apart(answer: Any) -> tuple[Any, Any]:
    """What is the same in another order: the answer without its hits, and the hits by their ids, without the scores."""
    answer = json.loads(json.dumps(answer))
    for name in ("took", "profile"):
        answer.pop(name, None)
    inner = answer.get("hits", {})
    found = inner.pop("hits", [])
    inner.pop("max_score", None)
    for hit in found:
        hit.pop("_score", None)
        for name in ("_node", "_shard"):
            hit.pop(name, None)
    return answer, sorted(found, key=lambda hit: json.dumps(hit, sort_keys=True))


ROWS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "aggs": ({"aggs": {"mean": {"avg": {"field": "n"}}, "top": {"top_hits": {"size": 2}}}}, {}),
    "typed_keys": ({"aggs": {"mean": {"avg": {"field": "n"}}}}, {"typed_keys": ""}),
    "highlight": ({"highlight": {"fields": {"all": {}}}}, {}),
    "suggest": ({"suggest": {"s": {"text": "qqx", "term": {"field": "all"}}}}, {}),
    "inner_hits": ({"query": {"bool": {"must": [EVERY["query"], NESTED]}}}, {}),
    "matched_queries": ({"query": {"match": {"all": {"query": "qqq", "_name": "mine"}}}}, {}),
    "collapse": ({"collapse": {"field": "kind"}}, {}),
    "collapse inner_hits": ({"collapse": {"field": "kind", "inner_hits": {"name": "same", "size": 1}}}, {}),
    "post_filter": ({"post_filter": {"range": {"n": {"gte": 0}}}}, {}),
    "rescore": (
        {"rescore": {"window_size": 5, "query": {"rescore_query": {"match": {"body": "cat"}}, "score_mode": "max"}}},
        {},
    ),
    "track_scores": ({"track_scores": True}, {}),
    "sort by score": ({"sort": ["_score"]}, {}),
    "sort by score in the URL": ({}, {"sort": "_score:desc"}),
    "min_score": ({"min_score": 0.0001}, {}),
    "explain": ({"explain": True}, {}),
    "version": ({"version": True, "seq_no_primary_term": True}, {}),
    "version in the URL": ({}, {"version": "true", "seq_no_primary_term": "true"}),
    "seq_no_primary_term off in the URL": ({"seq_no_primary_term": True}, {"seq_no_primary_term": "false"}),
    "docvalue_fields": ({"docvalue_fields": ["kind", {"field": "day", "format": "epoch_millis"}]}, {}),
    "docvalue_fields in the URL": ({}, {"docvalue_fields": "kind"}),
    "fields": ({"fields": ["bo*", "kind"]}, {}),
    "fields without _source": ({"fields": ["kind"], "_source": False}, {}),
    "stored_fields": ({"stored_fields": ["body"]}, {}),
    "stored_fields in the URL": ({}, {"stored_fields": "body"}),
    "_source in stored_fields": ({"stored_fields": ["body", "_source"]}, {}),
    "_source in stored_fields in the URL": ({"stored_fields": ["body"]}, {"stored_fields": "body,_source"}),
    "stored_fields with _source": ({"stored_fields": ["body"], "_source": ["n"]}, {}),
    "_source off": ({"_source": False}, {}),
    "_source list": ({"_source": ["n", "parts.*"]}, {}),
    "_source includes, excludes": ({"_source": {"includes": ["n", "pa*"], "excludes": ["parts.name"]}}, {}),
    "_source excludes": ({"_source": {"excludes": ["body", "bag"]}}, {}),
    "_source all": ({"_source": ["*"]}, {}),
    "_source in the URL": ({"_source": ["n"]}, {"_source": "kind,day"}),
    "_source off in the URL": ({}, {"_source": "false"}),
    "_source_includes in the URL": ({}, {"_source_includes": "n,day", "_source_excludes": "day"}),
    "_source_excludes in the URL": ({}, {"_source_excludes": "body"}),
    "rest_total_hits_as_int": ({}, {"rest_total_hits_as_int": "true"}),
    "track_total_hits": ({"track_total_hits": 3}, {}),
    "track_total_hits off": ({"track_total_hits": False}, {}),
    "terminate_after": ({"terminate_after": 1000, "timeout": "10s"}, {}),
    "profile": ({"profile": True}, {}),
    "dfs": ({}, {"search_type": "dfs_query_then_fetch"}),
    "preference and routing": ({}, {"preference": "_local", "routing": "a,b", "request_cache": "false"}),
    "pretty": ({}, {"pretty": "", "human": "true"}),
    "batched": ({}, {"batched_reduce_size": "5", "allow_partial_search_results": "true"}),
    "stats": ({"stats": ["group"], "indices_boost": []}, {}),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_search_asks_for_keeps_its_meaning(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, row: str
) -> None:
    more, parameters = ROWS[row]
    body = {**EVERY, "size": len(WORDS), **more}
    target = f"{index}/_search?{urlencode(parameters)}"
    direct = post(http, f"{engine.url}/{target}", body)
    answer = post(http, f"{url}/{target}", {**body, "ext": chat(text_fields=["body"])})
    assert direct.status == 200, direct.data
    assert answer.headers["X-Rerank-Status"] == "applied", (answer.headers, answer.data)
    assert apart(answer.json()) == apart(direct.json())
    assert words(answer) == BY_CHAT
    assert answer.json().keys() == direct.json().keys()
    scores = [hit["_score"] for hit in hits(answer)]
    assert answer.json()["hits"]["max_score"] == scores[0] == 1.0


@pytest.mark.parametrize(
    "paths",
    [
        "hits.hits._id",
        "hits.hits._id,hits.hits._score,hits.total.value",
        "hits.hits._source.parts.name,took,hits.hits._id",
        "**._id,**.total",
        "**.timed_out",
        "h*.h*._i*",
        "hits.hits._source.list,hits.hits._source.empty,hits.hits._source.n",
        "nothing",
        "",
    ],
)
@pytest.mark.parametrize("form", ["", "&pretty"])
def test_a_filter_path_filters_the_re_ranked_answer(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, paths: str, form: str
) -> None:
    body = {**EVERY, "size": len(WORDS)}
    target = f"{index}/_search?filter_path={paths}{form}"
    direct = post(http, f"{engine.url}/{target}", body)
    answer = post(http, f"{url}/{target}", {**body, "ext": chat(text_fields=["body"])})
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert apart(answer.json()) == apart(direct.json())
    # Over as many lines: blanks and all are the engine's.
    assert answer.data.count(b"\n") == direct.data.count(b"\n")


def test_compatible_with_is_answered_as_it_is_asked(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str
) -> None:
    kind = "application/vnd.elasticsearch+json;compatible-with=8"
    headers = {"Content-Type": kind, "Accept": kind, "X-Opaque-Id": "7"}
    body = json.dumps({"query": {"match": {"body": "cat dog"}}}).encode()
    direct, answer = (
        http.request("POST", f"{where}/{index}/_search", body=body, headers=headers) for where in (engine.url, url)
    )
    assert answer.status == direct.status
    for name in ("Content-Type", "X-Elastic-Product", "X-Opaque-Id"):
        assert answer.headers.get(name) == direct.headers.get(name)
    if engine.distribution == "elasticsearch":
        assert answer.headers["X-Rerank-Status"] == "applied"
        by_url = http.request("GET", f"{url}/{index}/_search?q=body:cat", headers={"Accept": kind})
        assert (by_url.headers["X-Rerank-Status"], by_url.headers["Content-Type"]) == ("applied", kind)


def test_what_is_written_as_it_came_is_not_written_anew(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    """Numbers beyond a double, escapes, blanks and the order of keys are kept."""
    document = (
        b'{ "z":1.50, "big" : {"n": 123456789012345678901234567890.10},"e":"\\u00e9\\/", "body":"cat",  "a":1E5 }'
    )
    http.request(
        "PUT",
        f"{engine.url}/{index_name}",
        json={"mappings": {"properties": {"big": {"type": "object", "enabled": False}}}},
    )
    http.request(
        "PUT",
        f"{engine.url}/{index_name}/_doc/1?refresh=true",
        body=document,
        headers={"Content-Type": "application/json"},
    )
    answer = post(http, f"{url}/{index_name}/_search", {"query": {"match": {"body": "cat"}}})
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert document in answer.data
