"""Two runs are the same but for time, chance and the order of re-ranked hits; anything else is a difference."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients.recording import Exchange, differences

HEADERS = {"Content-Type": "application/json", "X-Opaque-Id": "7"}
HITS = [{"_id": "1", "_score": 2.0, "_source": {"n": 1}}, {"_id": "2", "_score": 1.0, "_source": {"n": 2}}]


def exchange(body: Any, status: int = 200, target: str = "/i/_search", **headers: str) -> Exchange:
    return Exchange("POST", target, b"{}", status, {**HEADERS, **headers}, json.dumps(body).encode())


def found(hits: list[Any], total: int, took: int = 3, **more: Any) -> dict[str, Any]:
    return {"took": took, "hits": {"total": {"value": total}, "max_score": 2.0, "hits": hits}, **more}


APPLIED = {"X-Rerank-Status": "applied", "Server-Timing": "engine;dur=1"}
NO_TEXT = {"X-Rerank-Status": "fallback", "X-Rerank-Reason": "no_text_in_hits"}
SCORED_ANEW = [{**hit, "_score": 0.5} for hit in reversed(HITS)]


@pytest.mark.parametrize(
    ("direct", "proxied"),
    [
        (exchange(found(HITS, 2)), exchange(found(HITS, 2, took=900), **{"X-Rerank-Status": "skipped"})),
        (exchange({"_scroll_id": "a"}), exchange({"_scroll_id": "b"})),
        (exchange({"node": "x"}, Date="1"), exchange({"node": "y"}, Date="2")),
        (exchange({"at": "2026-01-01T00:00:00Z"}), exchange({"at": "2026-01-01T00:00:01Z"})),
        (exchange({"heap": 7}, target="/_nodes/stats"), exchange({"heap": 9}, target="/_nodes/stats")),
        (exchange(found(HITS, 2)), exchange(found(SCORED_ANEW, 2), **APPLIED)),
        (exchange(found([], 0, profile={"a": 1})), exchange(found([], 0, profile={"b": 1}), **APPLIED)),
        (exchange(found(HITS, 2, profile={"a": 1})), exchange(found(HITS, 2, profile={"b": 1}), **NO_TEXT)),
        # A page of a re-ranked search may hold others.
        (exchange(found(HITS[:1], 2)), exchange(found(SCORED_ANEW[:1], 2), **APPLIED)),
        (exchange({"responses": [found(HITS, 2)]}), exchange({"responses": [found(SCORED_ANEW, 2)]}, **APPLIED)),
    ],
)
def test_time_chance_and_the_order_of_re_ranked_hits_are_no_difference(direct: Exchange, proxied: Exchange) -> None:
    assert differences([direct], [proxied]) == []


@pytest.mark.parametrize(
    ("direct", "proxied", "named"),
    [
        (exchange({}), exchange({}, status=404), "status is 200, through the proxy 404"),
        (exchange({}), exchange({}, **{"X-Opaque-Id": "8"}), "x-opaque-id is '7', through the proxy '8'"),
        (exchange({}), exchange({}, Via="us", **{"X-Ours": "1"}), "'x-ours': '1'}"),
        (exchange({"n": 1}), exchange({"n": 2}), "body.n is 1, through the proxy 2"),
        (exchange({"n": 1}), exchange({"n": 1, "m": 1}), "body is {'n': 1}"),
        (exchange({"heap": 7}, target="/_nodes/stats"), exchange({}, target="/_nodes/stats"), "body is"),
        (exchange(found(HITS, 2)), exchange(found(SCORED_ANEW, 2)), "body.hits.hits.0._id"),
        (exchange(found(HITS, 2)), exchange(found(SCORED_ANEW[:1], 2), **APPLIED), "body.hits.hits"),
        (exchange(found(HITS[:1], 2)), exchange(found(SCORED_ANEW, 2), **APPLIED), "body.hits.hits"),
        (exchange(found(HITS, 2)), exchange(found([HITS[0], HITS[0]], 2), **APPLIED), "body.hits.hits.1"),
        (exchange(found([], 0, profile={"a": 1})), exchange(found([], 0), **APPLIED), "body is"),
        (exchange(found(HITS, 2)), exchange(found(SCORED_ANEW, 3), **APPLIED), "body.hits.total.value"),
        (exchange(found(HITS, 2, aggregations={"a": 1})), exchange(found(HITS, 2, aggregations={"a": 2}), **APPLIED),
         "body.aggregations.a"),
    ],
)  # fmt: skip
def test_anything_else_is_a_difference(direct: Exchange, proxied: Exchange, named: str) -> None:
    (difference, *_) = differences([direct], [proxied])
    assert named in difference


def test_a_request_too_few_is_a_difference() -> None:
    assert differences([exchange({}), exchange({})], [exchange({})]) == ["2 requests directly, 1 through the proxy"]
