"""The numbers of `/-/metrics`, and that the documentation names each one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import regex
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from reranker.proxy import PROXY_EXTENSION
from reranker.service.metrics import Metrics
from tests.support.fake_engine import FakeEngine, ok
from tests.support.service import MakeProxy

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def numbers(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Each sample by its name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def number(client: FlaskClient, name: str, **labels: str) -> float:
    return numbers(client.get("/-/metrics").text)[f"sinkrank_{name}", tuple(sorted(labels.items()))]


def test_a_request_is_counted_by_its_route_and_status(client: FlaskClient) -> None:
    client.post("/v1/search", json={"query": "cat"})
    client.post("/v1/search", json={"query": "xxyy"})
    client.post("/v1/search", json={"query": "xxyy"})
    assert number(client, "http_requests_total", route="/v1/search", method="POST", status="200") == 1
    assert number(client, "http_requests_total", route="/v1/search", method="POST", status="422") == 2
    assert number(client, "http_request_duration_seconds_count", route="/v1/search") == 3


@pytest.mark.parametrize("path", ["/v1/search", "/pages/_doc/1"])
def test_the_time_of_a_request_begins_with_its_arrival(make_proxy: MakeProxy, path: str) -> None:
    client = make_proxy().test_client()
    client.post(path, json={}, environ_overrides={"sinkrank.arrived_s": time.perf_counter() - 1_000})
    route = path if path.startswith("/v1") else "engine"
    assert number(client, "http_request_duration_seconds_sum", route=route) >= 1_000


def test_paths_of_an_engine_are_of_no_route_where_there_is_none(client: FlaskClient) -> None:
    assert client.get("/pages/_search").status_code == 404
    assert number(client, "http_requests_total", route="none", method="GET", status="404") == 1


def test_a_search_says_what_it_ranked(client: FlaskClient) -> None:
    # Of the five documents four have an embedding of their own; kNN finds those alone.
    body = {"query": "cat dog zzz", "language": "en", "method": "sinkhorn", "first_stage": "knn"}
    answer = client.post("/v1/search", json=body).get_json()
    assert number(client, "rerankings_total", method="sinkhorn") == 1
    assert number(client, "candidates_sum") == answer["n_candidates"]
    assert number(client, "ranked_candidates_total") == answer["n_candidates"]
    assert number(client, "solved_candidates_total") == answer["n_candidates"]  # all have a place: no bound saves one
    assert number(client, "converged_candidates_total") == answer["n_converged"]
    # Each of these has a transport of its own: one iteration at least, and 50 at most.
    ranked = number(client, "ranked_candidates_total") - number(client, "wordless_candidates_total")
    assert 0 < ranked <= number(client, "iterations_total") <= 50 * ranked
    assert number(client, "query_words_sum") == 2
    assert number(client, "query_unknown_words_total") == 1
    assert number(client, "stage_duration_seconds_count", stage="first_stage") == 1
    assert number(client, "stage_duration_seconds_count", stage="rerank") == 1


def test_all_candidates_are_counted_where_the_best_few_are_asked_for(client: FlaskClient) -> None:
    body = {"query": "cat", "documents": ["zzz", "dog", "qqq", "cat"], "language": "en", "top_n": 1}
    client.post("/v1/rerank", json=body)
    assert number(client, "candidates_sum") == 4
    assert number(client, "wordless_candidates_total") == 2
    assert number(client, "ranked_candidates_total") == 1


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_texts_that_come_again_are_not_read_again(client: FlaskClient, path: str) -> None:
    key = "texts" if path == "/rerank" else "documents"
    answers = [
        client.post(path, json={"query": query, key: ["dog", "cat", "dog"]}).get_json() for query in ("cat", "dog")
    ]
    assert number(client, "bag_cache_misses_total") == 2
    assert number(client, "bag_cache_hits_total") == 4
    results = [answer if path == "/rerank" else answer["results"] for answer in answers]
    assert [[result["index"] for result in ranked] for ranked in results] == [[1, 0, 2], [0, 2, 1]]


def test_requests_in_progress_fall_back_to_the_one_that_asks(client: FlaskClient) -> None:
    client.post("/v1/search", json={"query": "cat"})
    client.post("/v1/search", data=b"no json")
    assert number(client, "http_requests_in_progress") == 1


@pytest.mark.parametrize("path", ["/v1/Search-Text-Of-Mine", "/-/static/Search-Text-Of-Mine", "/Search-Text-Of-Mine"])
def test_no_text_of_a_request_becomes_a_label(client: FlaskClient, path: str) -> None:
    client.open(path, method="BREW", headers={"X-Opaque-Id": "Search-Text-Of-Mine"})
    client.get(path)
    client.post("/v1/search", json={"query": "cat", "method": "Search-Text-Of-Mine"})
    text = client.get("/-/metrics").text
    assert "Search-Text-Of-Mine" not in text
    assert "BREW" not in text


QUERY = {"query": {"match": {"t": "cat"}}}
HITS = b"""{"took":1,"hits":{"hits":[{"_index":"i","_id":"1","_score":2.0,"_source":{"t":"dog"}},
{"_index":"i","_id":"2","_score":1.0,"_source":{"t":"cat"}}]}}"""


def test_searches_through_the_proxy_are_counted_by_how_they_went(fake: FakeEngine, make_proxy: MakeProxy) -> None:
    fake.answer = lambda received: ok(HITS)
    client = make_proxy().test_client()
    assert client.post("/i/_search", json=QUERY).headers["X-Rerank-Status"] == "applied"
    client.post("/i/_search", json={**QUERY, "size": 0})
    client.get("/_cat/indices")
    client.post("/i/_search", json=QUERY)

    assert number(client, "proxy_searches_total", outcome="applied", reason="") == 2
    assert number(client, "proxy_searches_total", outcome="skipped", reason="no_hits_wanted") == 1
    assert number(client, "proxy_passed_requests_total") == 1
    assert number(client, "stage_duration_seconds_count", stage="engine") == 2
    assert number(client, "http_requests_total", route="engine", method="POST", status="200") == 3
    assert number(client, "bag_cache_misses_total") == 2  # the second search found the texts of both hits
    assert number(client, "bag_cache_hits_total") >= 2


def test_a_failure_is_counted_and_opens_the_circuit(fake: FakeEngine, make_proxy: MakeProxy) -> None:
    fake.answer = lambda received: ok(HITS)
    proxied = make_proxy()
    client = proxied.test_client()
    assert number(client, "proxy_circuit_state") == 0

    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    proxied.extensions[PROXY_EXTENSION].ranking.ranker.order = fail
    for _ in range(6):
        client.post("/i/_search", json=QUERY)

    assert number(client, "proxy_searches_total", outcome="fallback", reason="rerank_failed") == 5
    assert number(client, "proxy_searches_total", outcome="fallback", reason="breaker_open") == 1
    assert number(client, "proxy_circuit_openings_total") == 1
    assert number(client, "proxy_circuit_state") == 2


def documented() -> set[str]:
    return set(regex.findall(r"^\| `(sinkrank_\w+)`", DOCUMENTATION.read_text(encoding="utf-8"), regex.M))


def test_each_metric_is_documented_and_no_other() -> None:
    registered = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in Metrics().registry.collect()
        if family.name.startswith("sinkrank_")
    }
    assert documented() == registered


@pytest.mark.parametrize("version", ["abc", "1,application/openmetrics-text;version=v1"])
def test_a_version_that_is_no_number_gets_the_plain_format(client: FlaskClient, version: str) -> None:
    answer = client.get("/-/metrics", headers={"Accept": f"text/plain;version={version}"})
    assert (answer.status_code, answer.content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
