"""The proxy in front of real engines: what it re-ranks, and what it leaves as it is."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
import urllib3
from flask import Flask

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.service.settings import Settings
from tests.support.calls import BY_CHAT, WORDS, chat, outcomes, post, without_took
from tests.support.engines.sources import Engine
from tests.support.service import serving

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


def test_the_text_is_read_from_the_query(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    match = {"query": {"match": {"parts.body": "dog car"}}}
    answer = post(http, f"{url}/{foreign}/_search", match)
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert set(bodies(answer)) == {"dog", "car", "dog dog"}
    answer = http.request("GET", f"{url}/{foreign}/_search?q=parts.body:(dog%20OR%20car)%20-zzz&size=2")
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert len(bodies(answer)) == 2
    answer = post(http, f"{url}/_search", {"query": {"bool": {"must": match["query"], "filter": {"term": {"n": 2}}}}})
    assert bodies(answer) == ["dog"]


@pytest.mark.parametrize(("window", "size"), [(5, 2), (5, 3), (4, 4), (100, 3), (1, 1)])
def test_pages_cover_each_hit_once(http: urllib3.PoolManager, url: str, foreign: str, window: int, size: int) -> None:
    pages = [
        bodies(
            post(
                http,
                f"{url}/{foreign}/_search",
                {"query": {"match_all": {}}, "from": start, "size": size, "ext": chat(window_size=window)},
            )
        )
        for start in range(0, len(WORDS) + size, size)
    ]
    seen = [words for page in pages for words in page]
    first = [words for words in BY_CHAT if words in WORDS[:window]]
    assert seen == first + WORDS[window:]


def test_aggregations_and_highlights_stay(http: urllib3.PoolManager, engine: Engine, url: str, foreign: str) -> None:
    body = {
        "query": {"match": {"parts.note": "qqq"}},
        "size": 3,
        "track_total_hits": True,
        "aggs": {"mean": {"avg": {"field": "n"}}},
        "highlight": {"fields": {"parts.note": {}}},
    }
    direct = post(http, f"{engine.url}/{foreign}/_search", body).json()
    answer = post(http, f"{url}/{foreign}/_search", {**body, "ext": chat()})
    assert bodies(answer) == BY_CHAT[:3]
    assert answer.json()["aggregations"] == direct["aggregations"]
    assert answer.json()["hits"]["total"] == direct["hits"]["total"]
    assert all(hit["highlight"] == {"parts.note": ["<em>qqq</em>"]} for hit in answer.json()["hits"]["hits"])


@pytest.mark.parametrize(
    ("source", "left"),
    [(False, None), (["n"], {"n"}), ("parts.note", {"parts"}), ({"excludes": ["parts"]}, {"n", "price"})],
)
def test_a_source_filter_keeps_its_meaning(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str, source: Any, left: set[str] | None
) -> None:
    body = {"query": {"match_all": {}}, "_source": source}
    direct = {hit["_id"]: hit for hit in post(http, f"{engine.url}/{foreign}/_search", body).json()["hits"]["hits"]}
    answer = post(http, f"{url}/{foreign}/_search", {**body, "ext": chat()})
    assert answer.headers["X-Rerank-Status"] == "applied"
    hits = answer.json()["hits"]["hits"]
    assert [WORDS[int(hit["_id"])] for hit in hits] == BY_CHAT
    for hit in hits:
        assert hit.get("_source") == direct[hit["_id"]].get("_source")
        assert left is None or set(hit["_source"]) == left


def test_a_source_filter_in_the_url_keeps_its_meaning(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    answer = post(http, f"{url}/{foreign}/_search?_source_includes=n", {"query": {"match_all": {}}, "ext": chat()})
    assert [WORDS[hit["_source"]["n"]] for hit in answer.json()["hits"]["hits"]] == BY_CHAT


def test_our_own_index_is_ranked_by_its_bags(
    http: urllib3.PoolManager, url: str, ours: str, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reranker.proxy.hit_texts.source_text", lambda source, fields: pytest.fail("the text was read"))
    body = {"query": {"match_all": {}}, "_source": ["title"], "ext": chat()}
    answer = post(http, f"{url}/{ours}/_search", body)
    assert answer.headers["X-Rerank-Status"] == "applied", answer.headers
    hits = answer.json()["hits"]["hits"]
    assert [hit["_id"] for hit in hits] == ["cat-fr", "cat-en", "car-en", "bread-fr", "unknown"]
    assert all(set(hit["_source"]) <= {"title"} for hit in hits)


def test_the_proxy_and_our_search_agree(http: urllib3.PoolManager, url: str, ours: str) -> None:
    ranked = post(http, f"{url}/v1/search", {"query": "chat", "language": "fr", "index": ours, "method": "emd"}).json()
    answer = post(http, f"{url}/{ours}/_search", {"query": {"match_all": {}}, "ext": chat()}).json()
    expected = {hit["id"]: hit["score"] for hit in ranked["hits"]}
    found = {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=2e-6)
    assert len(expected) == 4


def test_the_bag_and_the_vector_are_not_added(http: urllib3.PoolManager, engine: Engine, url: str, ours: str) -> None:
    body = {"query": {"match_all": {}}, "_source": {"excludes": ["bag", "nbow"]}}
    direct = {hit["_id"]: hit for hit in post(http, f"{engine.url}/{ours}/_search", body).json()["hits"]["hits"]}
    for hit in post(http, f"{url}/{ours}/_search", {**body, "ext": chat()}).json()["hits"]["hits"]:
        assert hit["_source"] == direct[hit["_id"]]["_source"]
        assert not {"bag", "nbow"} & set(hit["_source"])


def test_scores_fall_over_all_pages_in_the_window_and_behind_it(
    http: urllib3.PoolManager, url: str, foreign: str
) -> None:
    scores, statuses, seen = [], [], []
    for offset in range(0, 8, 2):
        body = {"query": {"match_all": {}}, "from": offset, "size": 2, "ext": chat(window_size=3)}
        answer = post(http, f"{url}/{foreign}/_search", body)
        found = answer.json()["hits"]
        scores += [hit["_score"] for hit in found["hits"]]
        seen += [hit["_id"] for hit in found["hits"]]
        statuses.append((answer.headers["X-Rerank-Status"], answer.headers.get("X-Rerank-Reason")))
    assert scores == sorted(scores, reverse=True)
    assert len(seen) == len(set(seen)) > 4
    assert all(score < 0.02 for score in scores[3:])
    assert statuses[0] == ("applied", None)
    assert statuses[2] == ("skipped", "beyond_window")
    assert found["max_score"] is None  # of the first hit of all pages, which is not at hand


@pytest.mark.parametrize(
    ("body", "parameters", "reason"),
    [
        ({"query": {"match": {"parts.body": "dog"}}}, "rerank=false", "disabled"),
        ({"query": {"match_all": {}}}, "", "no_query_text"),
        ({"query": {"match": {"parts.body": "zzz"}}}, "", "unknown_words"),
        ({"query": {"match": {"parts.note": "qqq dog"}}, "sort": ["n"]}, "", "sorted"),
        ({"query": {"match": {"parts.body": "dog"}}, "size": 0}, "", "no_hits_wanted"),
        ({"query": {"match": {"parts.body": "dog"}}}, "format=yaml", "not_json"),
    ],
)
def test_a_search_that_is_not_re_ranked_is_the_engines_own(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str, body: Any, parameters: str, reason: str
) -> None:
    answer = post(http, f"{url}/{foreign}/_search?{parameters}", body)
    direct = post(http, f"{engine.url}/{foreign}/_search?{parameters.replace('rerank=false', '')}", body)
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("skipped", reason)
    assert answer.status == direct.status
    if "json" in direct.headers["Content-Type"]:
        assert without_took(answer) == without_took(direct)
    assert answer.headers["Content-Type"] == direct.headers["Content-Type"]


def test_our_section_does_not_reach_the_engine(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    body = {"query": {"match_all": {}}, "sort": ["n"], "ext": chat()}
    answer = post(http, f"{url}/{foreign}/_search", body)
    assert answer.headers["X-Rerank-Status"] == "skipped"
    assert bodies(answer) == WORDS


def test_a_wrong_section_is_refused_by_us(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    answer = post(http, f"{url}/{foreign}/_search", {"query": {"match_all": {}}, "ext": chat(window_size=0)})
    assert answer.status == 400
    assert "window_size" in answer.json()["error"]["reason"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("{index}/_search", {"query": {"match": {"parts.body": "dog", "wrong": "cat"}}}),
        ("{index}/_search", {"query": {"match": {"parts.body": {"query": "dog", "oops": 1}}}}),
        ("{index}/_search?oops=1", {"query": {"match": {"parts.body": "dog"}}}),
        ("missing-{index}/_search", {"query": {"match": {"parts.body": "dog"}}}),
        ("{index}/_search", {"query": {"match": {"parts.body": "dog"}}, "size": 10_001}),
        ("{index}/_search", {"query": {"match": {"parts.body": "dog"}}, "size": "x"}),
    ],
)
def test_the_engines_errors_are_its_own(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str, path: str, body: Any
) -> None:
    target = path.replace("{index}", foreign)
    answer, direct = post(http, f"{url}/{target}", body), post(http, f"{engine.url}/{target}", body)
    assert direct.status >= 400
    assert (answer.status, answer.data) == (direct.status, direct.data)


def test_a_body_that_is_no_json_is_the_engines_to_judge(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str
) -> None:
    headers = {"Content-Type": "application/json"}
    answers = [
        http.request("POST", f"{where}/{foreign}/_search", body=b'{"query": ', headers=headers)
        for where in (url, engine.url)
    ]
    assert answers[0].status == answers[1].status == 400
    assert answers[0].data == answers[1].data


def test_a_window_that_the_index_does_not_allow_falls_back(
    http: urllib3.PoolManager, engine: Engine, url: str, own_foreign: str
) -> None:
    http.request("PUT", f"{engine.url}/{own_foreign}/_settings", json={"index": {"max_result_window": 50}})
    body = {"query": {"match": {"parts.body": "dog car"}}}
    answer = post(http, f"{url}/{own_foreign}/_search", body)
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("fallback", "engine_refused")
    assert without_took(answer) == without_took(post(http, f"{engine.url}/{own_foreign}/_search", body))


class Broken:
    """A ranker that fails, or takes its time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def order(self, *_: Any) -> Any:
        time.sleep(self.seconds)
        raise RuntimeError("broken\r\nX-Injected: 1")


@pytest.mark.parametrize(("seconds", "reason"), [(0.0, "rerank_failed"), (1.0, "out_of_time")])
def test_re_ranking_that_fails_or_takes_too_long_gives_the_engines_answer(
    http: urllib3.PoolManager,
    engine: Engine,
    embeddings: Embeddings,
    foreign: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    seconds: float,
    reason: str,
) -> None:
    budget_ms = 300 if seconds else 60_000  # the engine's own time counts
    app = create_app(Settings(home=tmp_path, store=engine.url, proxy_budget_ms=budget_ms), None, embeddings)
    proxy: Proxy = app.extensions[PROXY_EXTENSION]
    proxy.ranking.ranker.order = Broken(seconds).order  # type: ignore[method-assign]
    body = {"query": {"match": {"parts.body": "dog car"}}, "from": 1, "size": 1, "_source": ["n"]}
    with serving(app) as url:
        answer = post(http, f"{url}/{foreign}/_search", {**body, "ext": chat()})
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("fallback", reason)
    assert "X-Injected" not in answer.headers
    assert without_took(answer) == without_took(post(http, f"{engine.url}/{foreign}/_search", body))
    assert outcomes(app) == {f"fallback/{reason}": 1}
    logged = [record for record in caplog.records if reason in record.getMessage()]
    assert [record.levelname for record in logged] == ["WARNING"]
    assert "\n" not in logged[0].getMessage()


def test_compressed_bodies_are_read_and_answers_may_be_compressed(
    http: urllib3.PoolManager, url: str, foreign: str
) -> None:
    body = gzip.compress(json.dumps({"query": {"match_all": {}}, "ext": chat()}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
    answer = http.request("POST", f"{url}/{foreign}/_search", body=body, headers=headers)
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert bodies(answer) == BY_CHAT


def test_a_search_with_a_large_body_is_passed_on(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    body = {"query": {"bool": {"must": {"match": {"parts.body": "dog"}}, "filter": {"terms": {"n": [2] * 60_000}}}}}
    answer = post(http, f"{url}/{foreign}/_search", body)
    assert answer.headers.get("X-Rerank-Reason") == "body_too_large", answer.data[:600]
    assert bodies(answer) == ["dog"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "_cat/indices/{index}?h=index,docs.count", None),
        ("GET", "{index}/_mapping", None),
        ("GET", "{index}/_mapping?pretty", None),
        ("HEAD", "{index}", None),
        ("HEAD", "missing-{index}", None),
        ("HEAD", "{index}/_doc/1", None),
        ("GET", "{index}/_doc/1", None),
        ("GET", "{index}/_doc/no%2Fwhere", None),
        ("GET", "missing-{index}", None),
        ("GET", "{index}/_count?q=n:1", None),
        ("POST", "{index}/_analyze", b'{"text": "The Cats"}'),
        ("POST", "{index}/_bulk", b"not ndjson"),
        ("PATCH", "{index}", b"{}"),
        ("DELETE", "missing-{index}", None),
        ("GET", "%3C{index}%7Bnow%2Fd%7D%3E", None),
        ("OPTIONS", "{index}", None),
    ],
)
def test_everything_else_is_byte_for_byte_what_the_engine_says(
    http: urllib3.PoolManager, engine: Engine, url: str, foreign: str, method: str, path: str, body: bytes | None
) -> None:
    target = path.replace("{index}", foreign)
    headers = {"Content-Type": "application/json", "X-Opaque-Id": "7"}
    direct, answer = (
        http.request(method, f"{where}/{target}", body=body, headers=headers) for where in (engine.url, url)
    )
    assert (answer.status, answer.data) == (direct.status, direct.data)
    ours_to_add = {"date", "server", "via", "connection", "transfer-encoding"}
    kept = {name.lower(): value for name, value in direct.headers.items() if name.lower() not in ours_to_add}
    assert {name.lower(): value for name, value in answer.headers.items() if name.lower() not in ours_to_add} == kept


def test_documents_are_written_through_the_proxy(
    http: urllib3.PoolManager, engine: Engine, url: str, own_foreign: str
) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in [{"index": {"_id": "new"}}, {"parts": {"body": "cat"}}])
    answer = http.request(
        "POST", f"{url}/{own_foreign}/_bulk?refresh=true", body=lines, headers={"Content-Type": "application/x-ndjson"}
    )
    assert answer.json()["errors"] is False
    assert http.request("GET", f"{engine.url}/{own_foreign}/_doc/new").json()["_source"] == {"parts": {"body": "cat"}}


def test_a_scroll_and_a_multi_search_pass(http: urllib3.PoolManager, url: str, foreign: str) -> None:
    body = {"query": {"match": {"parts.note": "qqq dog"}}, "size": 4}
    first = post(http, f"{url}/{foreign}/_search?scroll=1m", body)
    assert first.headers["X-Rerank-Reason"] == "scroll"
    second = post(http, f"{url}/_search/scroll", {"scroll": "1m", "scroll_id": first.json()["_scroll_id"]})
    assert len(second.json()["hits"]["hits"]) == 4
    assert "X-Rerank-Status" not in second.headers
    http.request("DELETE", f"{url}/_search/scroll", json={"scroll_id": first.json()["_scroll_id"]})
    lines = f'{{"index":"{foreign}"}}\n{json.dumps(body)}\n'
    answer = http.request("POST", f"{url}/_msearch", body=lines, headers={"Content-Type": "application/x-ndjson"})
    assert len(answer.json()["responses"][0]["hits"]["hits"]) == 4


def test_elasticsearchs_product_header_stays(http: urllib3.PoolManager, engine: Engine, url: str, foreign: str) -> None:
    body = {"query": {"match": {"parts.body": "dog"}}}
    direct = post(http, f"{engine.url}/{foreign}/_search", body).headers.get("X-Elastic-Product")
    assert post(http, f"{url}/{foreign}/_search", body).headers.get("X-Elastic-Product") == direct
    assert (direct == "Elasticsearch") == (engine.distribution == "elasticsearch")


def test_an_engines_own_client_searches_through_the_proxy(url: str, foreign: str) -> None:
    from opensearchpy import OpenSearch

    with OpenSearch(url, timeout=10) as client:
        answer = client.search(index=foreign, body={"query": {"match_all": {}}, "ext": chat(), "size": 2})
        assert [hit["_source"]["parts"]["body"] for hit in answer["hits"]["hits"]] == BY_CHAT[:2]
        assert client.indices.exists(index=foreign)
        assert client.count(index=foreign)["count"] == len(WORDS)
