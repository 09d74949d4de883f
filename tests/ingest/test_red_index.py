"""Runs into an index whose health is red, since no node holds one of its shards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import urllib3
from typer.testing import CliRunner

from ingest.documents import Layout
from ingest.from_index import opened_index, read_index_source
from mappings import index_definition
from reranker.base.errors import StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.stores.engine import bulk, retries
from sinkrank.commands.app import app
from tests.ingest.runs import Runs, dropped
from tests.support.engines.sources import Engine

_PER_NODE = "index.routing.allocation.total_shards_per_node"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "_SHARD_WAIT_S", 1)
    monkeypatch.setattr(retries, "N_TRIES", 2)
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0.2)


@pytest.fixture
def red(engine: Engine, embeddings: Embeddings, new_index: Callable[[], str]) -> Iterator[str]:
    """An index of one shard more than there are nodes, none of which may hold two: about every other document has its
    shard, for the rest there is none."""
    name = new_index()
    health = urllib3.request("GET", f"{engine.url}/_cluster/health", timeout=30).json()
    description = IndexDescription(embeddings.version, embeddings.dim)
    body = index_definition(engine.distribution, embeddings.dim, description.as_meta())
    body["settings"]["index"] |= {
        "number_of_shards": health["number_of_data_nodes"] + 1,
        "number_of_replicas": 0,
        "auto_expand_replicas": False,
        _PER_NODE.removeprefix("index."): 1,
    }
    with dropped(engine.url, name):
        made = urllib3.request("PUT", f"{engine.url}/{name}?wait_for_active_shards=0", json=body, timeout=60)
        assert made.status == 200, made.data
        yield name


def health(engine: Engine, index: str) -> str:
    return str(urllib3.request("GET", f"{engine.url}/_cluster/health/{index}", timeout=30).json()["status"])


def give_it_its_shards(engine: Engine, index: str) -> None:
    answer = urllib3.request("PUT", f"{engine.url}/{index}/_settings", json={_PER_NODE: -1}, timeout=60)
    assert answer.status == 200, answer.data


@pytest.mark.any_engine
@pytest.mark.engine
def test_a_run_whose_index_stays_red_ends_with_the_cure_and_the_next_one_goes_on(
    engine: Engine, red: str, runs: Runs
) -> None:
    arguments = runs.command(engine.url, red, "--workers", "1")
    first = CliRunner().invoke(app, arguments, prog_name="sinkrank")
    assert first.exit_code == 1
    said = " ".join(first.output.split())
    assert f"{engine.url} has no node for a shard" in said
    assert f"[{red}][" in said  # the engine's own words, with the shard
    assert "_cluster/allocation/explain" in said

    give_it_its_shards(engine, red)
    deadline = time.monotonic() + 300
    while health(engine, red) == "red" and time.monotonic() < deadline:
        time.sleep(0.05)
    second = CliRunner().invoke(app, arguments, prog_name="sinkrank")
    assert "1,500 of 1,504 documents are in index" in second.output
    with dropped(engine.url, red) as direct:
        runs.assert_whole(direct, red)


@pytest.mark.any_engine
@pytest.mark.engine
def test_what_a_red_index_has_in_its_other_shards_is_not_taken_for_all(
    engine: Engine, red: str, tmp_path: Path
) -> None:
    with closing(open_store(engine.url)) as store, pytest.raises(StoreUnavailable):
        list(store.bags(red))
    with (
        pytest.raises(StoreUnavailable),
        opened_index(read_index_source(f"{engine.url}/{red}", Layout()), tmp_path),
    ):
        pass
