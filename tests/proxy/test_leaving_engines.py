"""The engine cancels the search of a client that has left."""

from __future__ import annotations

import json

import pytest
import urllib3

from tests.serving.engines import connected
from tests.support.engines.sources import Engine
from tests.support.waiting import wait_until

# The most turns that an engine's script may take; milliseconds for each document.
SCRIPT = "double sum = 0; for (int i = 0; i < 990000; i++) { sum += i } return sum > 0 ? 1 : 2"
N_DOCUMENTS = 3_000
SEARCH = {"query": {"script_score": {"query": {"match": {"text": "cat"}}, "script": {"source": SCRIPT}}}}


def tasks(http: urllib3.PoolManager, engine: Engine) -> list[dict[str, object]]:
    """The searches that the engine works on."""
    answer = http.request("GET", f"{engine.url}/_tasks?actions=indices:data/read/search&detailed=true").json()
    return [
        task
        for node in answer["nodes"].values()
        for task in node["tasks"].values()
        if "990000" in str(task.get("description"))
    ]


def test_the_engine_cancels_the_search_of_a_client_that_has_left(
    http: urllib3.PoolManager, url: str, engine: Engine, index_name: str
) -> None:
    if engine.distribution == "elasticsearch":
        pytest.skip("the assembled Elasticsearch has no scripts")
    lines = "".join(f'{{"index":{{}}}}\n{{"text":"cat {n}"}}\n' for n in range(N_DOCUMENTS))
    headers = {"Content-Type": "application/x-ndjson"}
    bulk = http.request("POST", f"{engine.url}/{index_name}/_bulk?refresh=true", body=lines, headers=headers).json()
    assert not bulk["errors"]

    body = json.dumps(SEARCH).encode()
    head = f"POST /{index_name}/_search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connected(url, 1, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body):
        wait_until(lambda: tasks(http, engine), "the engine searches")
        assert not any(task.get("cancelled") for task in tasks(http, engine))
    seen: list[object] = []

    def is_over() -> bool:
        running = tasks(http, engine)
        seen.extend(task["cancelled"] for task in running if task.get("cancelled"))
        return bool(seen) or not running

    wait_until(is_over, "the search is cancelled or over")
    assert seen
    wait_until(lambda: not tasks(http, engine), "the engine stops")
