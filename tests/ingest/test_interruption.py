"""Runs that are killed, refused and cut off end, when they are given again, with exactly the documents of the input."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from reranker.stores.base.names import IndexVersion
from reranker.stores.base.protocol import WritableStore
from reranker.stores.engine import retries
from tests.ingest.faulty_proxy import Fault
from tests.ingest.runs import N_DOCUMENTS, N_REJECTS, Runs, Stopping, start, through_faults, written
from tests.support.commands import write_rows
from tests.support.engines.sources import Engine
from tests.support.processes import process_tree

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]


@pytest.mark.engine
def test_a_run_that_is_killed_again_and_again_ends_with_exactly_the_documents(
    first_engine: Engine, many_runs: Runs, new_index: Callable[[], str]
) -> None:
    index, n_killed = new_index(), 0
    with through_faults(first_engine.url, index, lambda number: "slow") as (direct, _, proxy):
        ingest = many_runs.command(proxy.address, index)
        for wanted in (300, 1_500):
            process = start(ingest)
            deadline = time.monotonic() + 300
            while process.poll() is None and time.monotonic() < deadline and written(direct, index) < wanted:
                time.sleep(0.02)
            n_killed += process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        proxy.fault = lambda number: "pass"
        last = start(ingest)
        stdout, stderr = last.communicate(timeout=300)
        assert n_killed == 2
        assert last.returncode == 1, stderr  # for the rejects
        assert "3,000 of 3,007 documents are in index" in stdout
        assert "were there already" in stdout
        many_runs.assert_whole(direct, index)
        assert [version.run for version in direct.versions(index)] == [None]


def test_a_killed_process_leaves_no_worker_behind(many_runs: Runs) -> None:
    process = start(many_runs.command(str(many_runs.folder / "store")))
    children: set[int] = set()
    deadline = time.monotonic() + 3000
    while process.poll() is None and time.monotonic() < deadline and len(children) < 2:
        children = {*process_tree(process.pid)} - {process.pid}
        time.sleep(0.01)
    assert children
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.05)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


# A request is refused, lost after the engine had it, half refused, or cut before the engine has it.
FAULTS: tuple[Fault, ...] = (429, "lost", "pass", "items", 503, "cut", "pass", 502)


@pytest.mark.engine
def test_a_run_against_a_node_that_fails_now_and_then_ends_with_exactly_the_documents(
    first_engine: Engine, runs: Runs, new_index: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0.001)
    index = new_index()
    with through_faults(first_engine.url, index, lambda number: FAULTS[number % 8]) as (store, faulty, proxy):
        for _ in range(20):
            summary = runs(faulty, index)
            if summary.failure is None:
                break
        assert len(set(proxy.faults)) > 1
        assert (summary.indexed, summary.rejected) == (N_DOCUMENTS, N_REJECTS)
        runs.assert_whole(store, index)


def test_a_run_that_is_given_again_writes_the_documents_that_are_missing(
    store: WritableStore, index: str, runs: Runs
) -> None:
    stopping = Stopping(store, after=1_000)
    with pytest.raises(KeyboardInterrupt):
        runs(stopping, index)
    counting = Stopping(store)
    summary = runs(counting, index)
    assert summary.already_there >= 1_000  # what was on its way may be there too
    assert counting.n_written == N_DOCUMENTS - summary.already_there
    assert (summary.read, summary.indexed, summary.rejected) == (N_DOCUMENTS + N_REJECTS, N_DOCUMENTS, N_REJECTS)
    runs.assert_whole(store, index)


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_run_counts_again_until_its_index_has_the_frequencies(
    store: WritableStore, index: str, runs: Runs, rebuild: bool
) -> None:
    saved: list[str] = []

    class Killed(Stopping):
        def save_idf(self, index, table, before):
            saved.append(index)
            if len(saved) == 1:
                raise KeyboardInterrupt
            return super().__getattr__("save_idf")(index, table, before)

    with pytest.raises(KeyboardInterrupt):
        runs(Killed(store), index, rebuild=rebuild)
    with pytest.raises(KeyboardInterrupt):
        runs(Killed(store, after=1_000), index, rebuild=rebuild)
    assert runs(Killed(store), index, rebuild=rebuild).already_there > 0
    assert saved == [f"{index}-000001"] * 2
    runs.assert_whole(store, index)


def test_a_rebuild_that_was_stopped_leaves_the_index_as_it_was_and_goes_on(
    store: WritableStore, index: str, runs: Runs
) -> None:
    other = write_rows(runs.folder / "other.jsonl", [{"id": "old", "lang": "fr", "text": "chat"}])
    runs(store, index, documents=other)
    with pytest.raises(KeyboardInterrupt):
        runs(Stopping(store, after=1_000), index, rebuild=True)
    assert [one.doc_id for one in store.bags(index)] == ["old"]
    summary = runs(store, index, rebuild=True)
    assert summary.already_there > 0
    assert (summary.version, summary.previous_version) == (f"{index}-000002", f"{index}-000001")
    runs.assert_whole(store, index)
    assert [version.name for version in store.versions(index)] == [f"{index}-000001", f"{index}-000002"]


def test_a_stopped_run_does_not_go_on_in_a_version_that_a_rebuild_has_replaced(
    store: WritableStore, index: str, runs: Runs
) -> None:
    with pytest.raises(KeyboardInterrupt):
        runs(Stopping(store, after=1_000), index)
    other = write_rows(runs.folder / "other.jsonl", [{"id": "other", "lang": "fr", "text": "chat"}])
    runs(store, index, rebuild=True, documents=other)
    assert [version.run for version in store.versions(index)] == [None, None]
    summary = runs(store, index)
    assert (summary.already_there, summary.indexed) == (0, N_DOCUMENTS)
    store.refresh(index)
    assert store.open(index).count() == N_DOCUMENTS + 1


def test_an_empty_version_that_a_killed_run_left_is_filled_by_the_next(
    store: WritableStore, index: str, runs: Runs
) -> None:

    class Killed(Stopping):
        def save_hubness_sample(self, index, sample):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs(Killed(store), index)
    (left,) = store.versions(index)
    assert not left.is_serving
    runs(store, index)
    assert store.versions(index) == [IndexVersion(f"{index}-000001", is_serving=True)]
    assert store.open(index).hubness_sample().languages.keys() == {"fr"}
    runs.assert_whole(store, index)


def test_a_file_that_has_changed_is_read_from_its_beginning(embedded: WritableStore, runs: Runs) -> None:
    rows = [json.dumps({"id": str(number), "lang": "fr", "text": "chat"}) for number in range(100)]
    changed = write_rows(runs.folder / "in.jsonl", rows)
    with pytest.raises(KeyboardInterrupt):
        runs(Stopping(embedded, after=50), documents=changed)
    write_rows(changed, [*reversed(rows), rows[0].replace('"0"', '"new"')])
    summary = runs(embedded, documents=changed)
    assert (summary.already_there, summary.indexed, embedded.open("pages").count()) == (0, 101, 101)


def test_a_run_that_is_complete_writes_all_documents_when_it_is_given_again(
    store: WritableStore, index: str, runs: Runs
) -> None:
    """Other runs may have replaced some of them."""
    runs(store, index)
    counting = Stopping(store)
    assert runs(counting, index).already_there == 0
    assert counting.n_written == N_DOCUMENTS


def test_the_same_command_twice_at_once_brings_each_document_in_once(embedded: WritableStore, runs: Runs) -> None:
    class Twice(Stopping):
        def write_prepared(self, index, prepared):
            assert runs(embedded, rebuild=True).failure is None
            return super().write_prepared(index, prepared)

    assert runs(Twice(embedded), rebuild=True).failure is None
    assert embedded.versions("pages") == [IndexVersion("pages-000001", is_serving=True)]
    runs.assert_whole(embedded)


def test_the_same_command_twice_at_once_makes_one_version_of_a_new_index(embedded: WritableStore, runs: Runs) -> None:
    started: list[str] = []

    def also_start_the_other(n_rows: int, total: int | None, step: str) -> None:
        if not started:
            started.append(step)
            with pytest.raises(KeyboardInterrupt):  # stopped when it has made the version
                runs(Stopping(embedded, after=0))

    with open_sources([str(runs.documents)]) as sources:
        options = Options(rejects=runs.folder / "r.jsonl", n_workers=1)
        summary = ingest(sources, embedded, "pages", runs.embeddings, options, progress=also_start_the_other)
    assert started == ["counting words"]
    assert summary.failure is None
    assert embedded.versions("pages") == [IndexVersion("pages-000001", is_serving=True)]
    runs.assert_whole(embedded)
