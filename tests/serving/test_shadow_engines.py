"""`sinkrank serve --proxy-mode shadow` in front of a real engine, and `sinkrank traffic` after it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.commands.test_serve import serving
from tests.serving.test_processes import children
from tests.support.calls import WORDS, post
from tests.support.commands import MakeForeign, Run, assert_one_line
from tests.support.engines.sources import Engine
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.any_engine]


def test_a_shadowed_search_is_answered_as_by_the_engine_and_shows_up_in_the_report(
    home: Path, run: Run, engine: Engine, make_foreign: MakeForeign
) -> None:
    index = make_foreign({"text": {"type": "text"}}, [{"text": f"chat {word}"} for word in WORDS])
    query = {"query": {"match": {"text": "chat"}}, "size": 5}

    def report() -> Any:
        return json.loads(run("traffic", "--json").stdout)

    with (
        serving(home, "--proxy-mode", "shadow", "--store", engine.url, "--processes", "2") as (process, address),
        urllib3.PoolManager() as http,
    ):
        wait_until(lambda: len(children(process.pid)) == 3, "all processes are there")
        shadowed, plain = (post(http, f"{url}/{index}/_search", query) for url in (address, engine.url))
        wait_until(lambda: report()["n_searches"] == 1, "the search is recorded")
        over_http = http.request("GET", f"{address}/v1/traffic").json()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert shadowed.headers["X-Rerank-Reason"] == "shadow"
    assert shadowed.json()["hits"] == plain.json()["hits"]
    found = report()
    assert found == over_http
    assert (found["n_ranked"], found["n_new_page"], found["queries"]) == (1, 1, [])
    assert "another first page:          1 (100.0%)" in run("traffic").stdout


def test_shadow_needs_an_engine(home: Path, run: Run) -> None:
    assert "proxy_mode shadow needs an engine" in run("serve", "--proxy-mode", "shadow", exits=2).stderr


def test_the_report_of_nothing_names_the_cure(home: Path, run: Run) -> None:
    assert_one_line(run("traffic", exits=1), "sinkrank serve --proxy-mode shadow")
