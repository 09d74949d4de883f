"""opensearch-js and elasticsearch-js, each in front of its own engines, cannot tell the proxy from the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
import urllib3

from tests.clients.conftest import Proxying
from tests.clients.javascript_packages import installed_packages, run_node
from tests.clients.recording import Exchange, differences, timeless
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.conformance, pytest.mark.engine]

INDICES = ("clients-javascript", "clients-javascript-copy", "clients-javascript-words")
# By the cosines with "chat": dog 0.936, car -0.28, bread -0.96; "any" has no embedding.
BY_CHAT = ["any dog", "any car", "any bread"]

Runs = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def runs(engine: Engine, proxying: Proxying) -> Runs:
    """How all calls went at the engine, and how at the proxy."""
    packages = installed_packages()
    with urllib3.PoolManager(retries=False) as http, proxying(engine.url) as url:

        def remove() -> None:
            for name in INDICES:
                http.request("DELETE", f"{engine.url}/{name}")

        def run(address: str) -> dict[str, Any]:
            remove()
            try:
                went: dict[str, Any] = json.loads(run_node(packages, "run_calls.js", engine.distribution, address))
            finally:
                remove()
            return went

        return run(engine.url), run(url)


def exchanges(call: dict[str, Any], *ignored: str) -> list[Exchange]:
    """Those of a call, without some headers."""
    return [
        Exchange(
            **{
                **one,
                "sent": one["sent"].encode(),
                "body": one["body"].encode(),
                "headers": {name: value for name, value in one["headers"].items() if name not in ignored},
            }
        )
        for one in call["exchanges"]
    ]


@pytest.mark.parametrize("section", ["calls", "helpers", "re_ranked"])
def test_each_call_sends_gets_and_gives_the_same(runs: Runs, section: str) -> None:
    direct, proxied = runs
    # The proxy does not compress a short answer that it wrote itself.
    ignored = ["content-encoding"] if section == "re_ranked" else []
    unlike: list[Any] = []
    for one, other in zip(direct[section]["made"], proxied[section]["made"], strict=True):
        unlike += [(one["name"], found) for found in differences(exchanges(one, *ignored), exchanges(other, *ignored))]
        if section != "re_ranked" and timeless(one["result"]) != timeless(other["result"]):
            unlike.append((one["name"], one["result"], other["result"]))
    assert unlike == []


def test_the_calls_do_what_they_are_there_for(runs: Runs) -> None:
    direct, _ = runs
    statuses = [one["status"] for call in direct["calls"]["made"] for one in call["exchanges"]]
    assert {200, 201, 400, 404, 409} <= set(statuses)
    assert sum(status < 300 for status in statuses) > len(statuses) / 2
    assert [call["name"] for call in direct["calls"]["made"] if not call["exchanges"]] == []
    assert all("gave" in call["result"] for call in direct["helpers"]["made"])
    bulk = direct["helpers"]["made"][0]["result"]["gave"]
    assert (bulk["counts"]["total"], bulk["counts"]["failed"], bulk["dropped"]) == (60, 0, [])


def test_connections_are_kept_as_the_engine_keeps_them(runs: Runs) -> None:
    direct, proxied = runs
    # The calls come one after the other; a helper ends its scroll while the next one begins.
    assert proxied["calls"]["n_connections"] <= direct["calls"]["n_connections"]


def test_searches_by_text_come_back_in_another_order(runs: Runs) -> None:
    direct, proxied = runs
    for run, order in ((direct, sorted(BY_CHAT)), (proxied, BY_CHAT)):
        for call in run["re_ranked"]["made"]:
            for exchange in exchanges(call):
                answer = json.loads(exchange.body)
                first = answer.get("responses", [answer])[0]
                assert [hit["_source"]["text"] for hit in first["hits"]["hits"]] == order, call["name"]
                status = exchange.end_to_end().get("x-rerank-status")
                assert status == ("applied" if run is proxied else None), call["name"]


def test_the_helpers_give_what_was_re_ranked(runs: Runs) -> None:
    for run, order in zip(runs, [sorted(BY_CHAT), BY_CHAT], strict=True):
        *_, search, msearch = run["re_ranked"]["made"]
        by_text, sorted_by_n = msearch["result"]["gave"]
        assert [document["text"] for document in search["result"]["gave"]] == order
        assert [hit["_source"]["text"] for hit in by_text["hits"]["hits"]] == order
        assert [hit["_source"]["n"] for hit in sorted_by_n["hits"]["hits"]] == [0, 1, 2]
