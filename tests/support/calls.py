"""The documents of the proxy's tests, and the requests that they make."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import urllib3
from flask import Flask

from reranker.service.service import EXTENSION, Service

# In the order in which an engine finds them by `match_all`; nearest to "chat" are cat, dog, car, water, bread (cosines
# 0.96, 0.936, -0.28, -0.352, -0.96), and nearer still is chat itself.
WORDS = ["bread", "car", "dog", "zzz", "cat", "water", "chat", "bread bread", "dog dog", "cat cat"]
BY_CHAT = ["chat", "cat", "cat cat", "dog", "dog dog", "car", "water", "bread", "bread bread", "zzz"]


def make_index(
    http: urllib3.PoolManager,
    url: str,
    name: str,
    properties: Mapping[str, Any],
    documents: Sequence[Mapping[str, Any]],
    **mappings: Any,
) -> None:
    """An index of one shard with documents named by their places."""
    body = {
        "settings": {"number_of_shards": 1, "number_of_replicas": 0},
        "mappings": {"properties": properties, **mappings},
    }
    made = http.request("PUT", f"{url}/{name}", json=body)
    assert made.status == 200, made.data
    lines = [line for n, document in enumerate(documents) for line in ({"index": {"_id": str(n)}}, document)]
    answer = http.request(
        "POST",
        f"{url}/{name}/_bulk?refresh=true",
        body=ndjson(*lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert answer.json()["errors"] is False, answer.data


def chat(**rerank: Any) -> dict[str, Any]:
    """An `ext` that asks for the order by `chat`."""
    return {"rerank": {"query_context": {"query_text": "chat"}, "language": "fr", "method": "emd", **rerank}}


def post(http: urllib3.PoolManager, url: str, body: Any, **headers: str) -> urllib3.BaseHTTPResponse:
    return http.request("POST", url, json=body, headers={"Content-Type": "application/json", **headers})


def ndjson(*lines: Any) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def multi_search(http: urllib3.PoolManager, url: str, *lines: Any, **headers: str) -> urllib3.BaseHTTPResponse:
    return http.request("POST", url, body=ndjson(*lines), headers={"Content-Type": "application/x-ndjson", **headers})


def hits(answer: Any) -> list[dict[str, Any]]:
    """Of a response, or of a part of one."""
    if isinstance(answer, urllib3.BaseHTTPResponse):
        assert answer.status == 200, answer.data
        answer = answer.json()
    found: list[dict[str, Any]] = answer["hits"]["hits"]
    return found


def words(answer: Any) -> list[str]:
    """The hits as their words, by their ids."""
    return [WORDS[int(hit["_id"])] for hit in hits(answer)]


def outcomes(app: Flask) -> dict[str, int]:
    """How many searches went which way since the app's start: `applied`, `fallback/busy`."""
    service: Service = app.extensions[EXTENSION]
    (family,) = service.metrics.searches.collect()
    return {
        "/".join(filter(None, [sample.labels["outcome"], sample.labels["reason"]])): int(sample.value)
        for sample in family.samples
        if sample.name.endswith("_total")
    }
