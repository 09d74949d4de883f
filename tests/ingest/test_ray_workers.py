"""A local Ray with two workers does what processes do, document for document, and goes on where it was killed."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.ray_workers import RayWorkers
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from tests.engines.sources import Engine
from tests.ingest.faulty_proxy import faulty_proxy
from tests.ingest.test_interruption import N_DOCUMENTS, assert_whole, documents, run, written

__all__ = ["documents"]


def start(documents: Path, address: str, index: str, folder: Path, embeddings: Embeddings) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "sinkrank", "ingest", str(documents), "--index", index, "--store", address),
            *("--embeddings", str(embeddings.path), "--home", str(folder), "--rejects", str(folder / "r.jsonl")),
            *("--engine", "ray", "--workers", "2"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


NEEDS_RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)")


@pytest.mark.slow
@pytest.mark.engine
@NEEDS_RAY
def test_two_ray_workers_make_the_same_index_also_after_the_run_was_killed(
    first_engine: Engine, documents: Path, embeddings: Embeddings, tmp_path: Path, new_index: Callable[[], str]
) -> None:
    by_ray, by_process = new_index(), new_index()
    store = open_store(first_engine.url)
    try:
        with faulty_proxy(first_engine.url, lambda number: "slow") as proxy:
            first = start(documents, proxy.address, by_ray, tmp_path, embeddings)
            deadline = time.monotonic() + 300
            while first.poll() is None and time.monotonic() < deadline and written(store, by_ray) < 1_200:
                time.sleep(0.02)
            was_running = first.poll() is None
            os.killpg(first.pid, signal.SIGKILL)
            first.communicate()
            assert was_running
            proxy.fault = lambda number: "pass"
            second = start(documents, proxy.address, by_ray, tmp_path, embeddings)
            stdout, stderr = second.communicate(timeout=300)
        assert "3,000 of 3,007 documents are in index" in stdout, stderr
        assert "going on after row" in stdout
        assert_whole(store, by_ray, tmp_path / "r.jsonl")
        (tmp_path / "process").mkdir()
        assert run(documents, store, by_process, embeddings, tmp_path / "process").indexed == N_DOCUMENTS
        assert store.idf(by_ray).version == store.idf(by_process).version
        assert store.hubness_sample(by_ray) == store.hubness_sample(by_process)
        for number in (*range(0, N_DOCUMENTS, 300), N_DOCUMENTS - 1):
            one, two = (store.fetch(name, str(number)) for name in (by_ray, by_process))
            assert (one.document, one.weights_version) == (two.document, two.weights_version)
            assert one.bag.term_ids.tolist() == two.bag.term_ids.tolist()
            assert one.nbow is not None
            assert two.nbow is not None
            assert one.nbow.tolist() == two.nbow.tolist()
    finally:
        for name in (by_ray, by_process):
            if name in store.indices():
                store.drop(name)
        store.close()


KILLING = """
import os, pathlib, signal, sys
from ingest.ray_workers import RayWorkers
mark = pathlib.Path(sys.argv[1])
def add(shared, piece):
    if piece == 10 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return shared + piece
with RayWorkers(100, 2) as workers:
    results = [result for _, result in workers.map(add, range(30))]
print(results, mark.exists())
"""


@pytest.mark.slow
@NEEDS_RAY
def test_a_ray_worker_that_is_killed_is_started_again_and_no_piece_is_lost(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLING, str(tmp_path / "killed")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == f"{list(range(100, 130))} True\n", done.stderr


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match=r"sinkrank\[ray\]"):
        RayWorkers(None, 2)
