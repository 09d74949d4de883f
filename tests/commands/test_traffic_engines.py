"""`sinkrank traffic` with the clicks of OpenSearch's User Behavior Insights, in a real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from reranker.traffic.file import TrafficFile
from reranker.traffic.interleaving import ENGINE, OURS
from tests.support.calls import make_index
from tests.support.commands import Run
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.engine, pytest.mark.any_engine, pytest.mark.xdist_group("ubi_events")]

KEYWORD = {"type": "keyword"}
# As the plugin declares them (user-behavior-insights, `events-mapping.json`); other fields are dynamic.
MAPPING = {
    "action_name": KEYWORD,
    "event_attributes": {"properties": {"object": {"properties": {"object_id": KEYWORD, "internal_id": KEYWORD}}}},
}


def event(query_id: str, action: str = "click", **clicked: str) -> dict[str, object]:
    return {"query_id": query_id, "action_name": action, "event_attributes": {"object": clicked}}


@pytest.fixture
def events(engine: Engine) -> Iterator[None]:
    with urllib3.PoolManager(timeout=60) as http:
        found = [
            event("q-1", object_id="a"),
            event("q-2", object_id="sku-9", internal_id="a"),
            event("q-2", "add_to_cart", object_id="b"),
            event("q-3", object_id="b"),
            event("elsewhere", object_id="a"),
            {"query_id": "q-1", "action_name": "click"},
        ]
        http.request("DELETE", f"{engine.url}/ubi_events")
        make_index(http, engine.url, "ubi_events", MAPPING, found)
        yield
        http.request("DELETE", f"{engine.url}/ubi_events")


def test_clicks_are_read_from_the_engines_events(home: Path, run: Run, engine: Engine, events: None) -> None:
    file = TrafficFile(home / ".sinkrank")
    file.create()
    for query_id in ("q-1", "q-2", "q-3", "q-4"):
        file.add_interleaved(f"search of {query_id}", query_id, {"a": OURS, "b": ENGINE})
    found = json.loads(run("traffic", "--store", engine.url, "--json").stdout)["interleaved"]
    assert [found[name] for name in ("n_searches", "wins", "losses", "ties")] == [4, 2, 1, 0]
    said = run("traffic", "--store", engine.url).stdout
    assert "by clicks ours won 2, the engine's order 1, neither 0" in said
    assert "verdict:                     none yet; some " in said


def test_an_engine_without_events_has_no_clicks(home: Path, run: Run, engine: Engine) -> None:
    file = TrafficFile(home / ".sinkrank")
    file.create()
    file.add_interleaved("one", "q-1", {"a": OURS, "b": ENGINE})
    found = json.loads(run("traffic", "--store", engine.url, "--json").stdout)["interleaved"]
    assert [found[name] for name in ("n_searches", "wins", "losses", "ties")] == [1, 0, 0, 0]
