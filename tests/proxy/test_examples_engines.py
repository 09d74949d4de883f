"""The queries that the page offers for an index that lies in an engine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import urllib3

from reranker.service.examples import examples_of
from reranker.stores import open_store
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.engine


def test_titles_are_offered_and_no_scan_is_left_open(
    engine: Engine, ours: str, http: urllib3.PoolManager, tmp_path: Path
) -> None:
    with closing(open_store(engine.url)) as store:
        offered = examples_of(store, ours, tmp_path, has_titles=True)
    assert {("Le chat", "fr"), ("A cat", "en")} <= {(each.query, each.language) for each in offered}
    stats = http.request("GET", f"{engine.url}/_nodes/stats/indices/search").json()
    assert [node["indices"]["search"]["scroll_current"] for node in stats["nodes"].values()] == [0]
