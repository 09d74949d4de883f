"""Multi-searches through the proxy: re-ranked lines beside others, each with the answer that it would have alone."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
import urllib3
from flask import Flask

from tests.support.calls import BY_CHAT, WORDS, chat, hits, multi_search, ndjson, outcomes, post, words
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

EVERY = {"query": {"match_all": {}}, "size": 4}


def responses(answer: urllib3.BaseHTTPResponse) -> list[Any]:
    assert answer.status == 200, answer.data
    found: list[Any] = answer.json()["responses"]
    return found


def without_took(response: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in response.items() if name != "took"}


@pytest.mark.parametrize("path", ["_msearch", "{index}/_msearch", "{index}/_msearch?max_concurrent_searches=1"])
def test_re_ranked_lines_stand_beside_others(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str, path: str, app: Flask
) -> None:
    named = {} if "{index}" in path else {"index": foreign}
    target = path.replace("{index}", foreign)
    plain = [
        named,
        {"query": {"match": {"parts.note": "qqq dog"}}, "sort": ["n"], "size": 2},
        {"index": f"missing-{foreign}"},
        {"query": {"match": {"parts.body": "dog"}}},
        {**named, "search_type": "dfs_query_then_fetch", "preference": "_local"},
        {"query": {"match_all": {}}, "size": 0, "aggs": {"mean": {"avg": {"field": "n"}}}},
        named,
        {"query": {"match": {"n": "dog"}}},
    ]
    answer = responses(
        multi_search(
            http,
            f"{url}/{target}",
            named,
            {**EVERY, "ext": chat()},
            *plain,
            named,
            {**EVERY, "ext": chat(window_size=2)},
        )
    )
    direct = responses(multi_search(http, f"{engine.url}/{target}", *plain))
    assert words(answer[0]) == BY_CHAT[:4]
    assert [without_took(one) for one in answer[1:5]] == [without_took(one) for one in direct]
    assert words(answer[5]) == ["car", "bread", *WORDS[2:4]]
    assert answer[2]["status"] == 404
    assert outcomes(app)["applied"] == 2


def test_a_line_is_answered_as_its_search_alone(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    body = {**EVERY, "from": 1, "_source": ["n"], "ext": chat(details=True), "aggs": {"mean": {"avg": {"field": "n"}}}}
    (line,) = responses(multi_search(http, f"{url}/_msearch", {"index": foreign}, body))
    alone = post(http, f"{url}/{foreign}/_search", body)
    assert without_took(line) == {**without_took(alone.json()), "status": 200}
    assert words(line) == BY_CHAT[1:5]


def test_a_broken_section_is_refused_with_its_line(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    answer = multi_search(http, f"{url}/{foreign}/_msearch", {}, EVERY, {}, {**EVERY, "ext": chat(window_size=0)})
    assert answer.status == 400
    assert "search 2: ext.rerank" in answer.json()["error"]["reason"]


def test_a_window_that_an_index_does_not_allow_is_asked_for_again_as_the_page(
    http: urllib3.PoolManager, engine: Engine, url: str, own_foreign: str
) -> None:
    http.request("PUT", f"{engine.url}/{own_foreign}/_settings", json={"index": {"max_result_window": 50}})
    body = {"query": {"match": {"parts.body": "dog car"}}}
    broken = {"query": {"match": {"n": "dog"}}}
    answer = multi_search(http, f"{url}/{own_foreign}/_msearch", {}, body, {}, broken)
    direct = multi_search(http, f"{engine.url}/{own_foreign}/_msearch", {}, body, {}, broken)
    # A match on an integer is a filter, which the engine refuses for itself.
    assert answer.headers["X-Rerank-Reason"] == "engine_refused=1, filter_only=1"
    assert [without_took(one) for one in responses(answer)] == [without_took(one) for one in responses(direct)]


def test_a_filter_path_holds_for_all_lines(http: urllib3.PoolManager, engine: Engine, url: str, foreign: str) -> None:
    target = f"{foreign}/_msearch?filter_path=responses.hits.hits._id"
    lines = ({}, {**EVERY, "size": 10}, {}, {**EVERY, "sort": ["n"]})
    answer = multi_search(http, f"{url}/{target}", {}, {**EVERY, "size": 10, "ext": chat()}, *lines[2:]).json()
    direct = multi_search(http, f"{engine.url}/{target}", *lines).json()
    assert words(answer["responses"][0]) == BY_CHAT
    for one in (answer, direct):
        one["responses"][0]["hits"].pop("max_score", None)
        for hit in one["responses"][0]["hits"]["hits"]:
            hit.pop("_score", None)
        one["responses"][0]["hits"]["hits"].sort(key=lambda hit: int(hit["_id"]))
    assert answer == direct


def test_windows_line_ends_compression_and_types_are_read(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    body = ndjson({}, {**EVERY, "ext": chat()}).replace(b"\n", b"\r\n")
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
    answer = http.request("POST", f"{url}/{foreign}/_msearch", body=gzip.compress(body), headers=headers)
    assert words(responses(answer)[0]) == BY_CHAT[:4]
    answer = http.request(
        "GET",
        f"{url}/{foreign}/_msearch?typed_keys&rest_total_hits_as_int=true",
        body=body,
        headers=headers | {"Content-Encoding": "identity"},
    )
    assert words(responses(answer)[0]) == BY_CHAT[:4]
    assert responses(answer)[0]["hits"]["total"] == len(WORDS)


def test_many_lines_with_one_filter_are_looked_up_at_once(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    lines = [line for size in (2, 3, 4) for line in ({}, {**EVERY, "size": size, "_source": False, "ext": chat()})]
    answer = multi_search(http, f"{url}/{foreign}/_msearch", *lines)
    assert [words(one) for one in responses(answer)] == [BY_CHAT[:2], BY_CHAT[:3], BY_CHAT[:4]]
    assert all("_source" not in hit for one in responses(answer) for hit in hits(one))
