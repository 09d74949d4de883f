"""The process of `sinkrank serve --proxy-mode shadow`, in front of an engine that a test answers for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.commands.test_serve import ROOT, serving
from tests.support.commands import Run
from tests.support.fake_engine import FakeEngine, ok
from tests.support.tiny import tiny_embeddings
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

PARENT = """
import os
from pathlib import Path
from reranker.service.settings import Settings
from sinkrank.actions.shadow_process import shadow_process

Path("damaged").write_text("no embeddings", encoding="utf-8")
try:
    with shadow_process(Settings(store="opensearch://localhost:1", embeddings="damaged")):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        print("the other process has ended", flush=True)
finally:
    print("the parent goes on", flush=True)
"""


def test_searches_are_ranked_in_shadow_once_there_are_embeddings(empty_home: Path, run: Run, fake: FakeEngine) -> None:
    hit = {"_index": "pages", "_id": "1", "_score": 2.0, "_source": {"body": "cat"}}
    found = {"took": 1, "hits": {"max_score": 2.0, "hits": [hit, {**hit, "_id": "2", "_score": 1.0}]}}
    fake.answer = lambda received: ok(json.dumps(found).encode())
    tiny_embeddings(empty_home / "embeddings")

    def report_after_a_search() -> Any:
        search = {"query": {"match": {"body": "cat"}}}
        answer = urllib3.request("POST", f"{address}/pages/_search", json=search, timeout=60)
        assert answer.json() == found
        return json.loads(run("traffic", "--json", exits=None).stdout or "{}")

    with serving(empty_home, "--proxy-mode", "shadow", "--store", fake.url, "--processes", "1") as (_, address):
        wait_until(lambda: report_after_a_search().get("not_ranked"), "a search without embeddings is recorded")
        assert report_after_a_search()["not_ranked"].keys() == {"fallback: no_embeddings"}
        (empty_home / "embeddings").rename(empty_home / ".sinkrank" / "embeddings")
        wait_until(lambda: report_after_a_search()["n_ranked"], "a search is ranked in shadow")


def test_what_the_parent_has_left_to_do_is_not_done_by_the_other_process_when_it_fails(empty_home: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PARENT], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["the other process has ended", "the parent goes on"], done.stderr
    assert "the process that ranks in shadow has failed" in done.stderr
