"""Runs whose node restarts, whose index is closed or deleted, whose disk is full or whose index another run wants
end, when they are given again, with exactly the documents of the input."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import urllib3
from typer.testing import CliRunner

from ingest.claims import Claim
from ingest.refresh import Refreshed
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import WritableStore
from reranker.stores.embedded.writable import WritableEmbeddedStore
from reranker.stores.engine import retries
from sinkrank.commands.app import app
from tests.ingest.faulty_proxy import Fault, is_bulk, is_search
from tests.ingest.runs import N_DOCUMENTS, Pages, Runs, Stopping, through_faults, write_documents
from tests.support.commands import write_rows
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.any_engine


def put(url: str, path: str, body: object = None, method: str = "PUT") -> None:
    answer = urllib3.request(method, f"{url}/{path}", json=body, timeout=60)
    assert answer.status == 200, answer.data


@pytest.mark.engine
def test_a_node_that_is_away_for_a_while_and_then_not_ready_costs_no_document(
    engine: Engine, runs: Runs, new_index: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a restart: a request is lost after the engine had it, then none gets through, then all are refused."""
    monkeypatch.setattr(retries, "N_TRIES", 150)
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(retries, "LONGEST_WAIT_S", 0.02)
    name, away = new_index(), iter(["lost", *["cut"] * 30, *[503] * 30])
    n_bulks = 0

    def restart(number: int) -> Fault:
        return next(away, "pass") if n_bulks > 2 else "pass"

    def noting(path: str) -> bool:
        nonlocal n_bulks
        n_bulks += is_bulk(path)
        return True

    with through_faults(engine.url, name, restart, noting) as (direct, store, proxy):
        summary = runs(store, name)
        assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
        assert {"lost", "cut", 503} <= set(proxy.faults)
        runs.assert_whole(direct, name)


@pytest.mark.engine
def test_an_index_that_is_closed_takes_the_documents_when_it_is_open_again(
    engine: Engine, runs: Runs, new_index: Callable[[], str]
) -> None:
    name = new_index()
    opened = threading.Event()

    def open_again() -> None:
        put(engine.url, f"{name}/_open", method="POST")
        opened.set()

    def close(number: int) -> Fault:
        if number == 2:
            put(engine.url, f"{name}/_close", method="POST")
            threading.Timer(1.5, open_again).start()
        return "pass"

    with through_faults(engine.url, name, close) as (direct, store, _):
        summary = runs(store, name)
        assert opened.wait(30)
        assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
        runs.assert_whole(direct, name)


@pytest.mark.engine
def test_an_index_that_is_deleted_meanwhile_is_not_made_anew_by_the_writing(
    engine: Engine, runs: Runs, new_index: Callable[[], str]
) -> None:
    name = new_index()

    def delete(number: int) -> Fault:
        if number == 2:
            put(engine.url, f"{name}-000001", method="DELETE")
        return "pass"

    with through_faults(engine.url, name, delete) as (direct, store, _):
        first = runs(store, name)
        assert first.failure is not None
        assert f"has no index '{name}-000001'" in first.failure
        assert urllib3.request("GET", f"{engine.url}/{name}*?expand_wildcards=all", timeout=30).json() == {}
        second = runs(store, name)
        assert (second.failure, second.already_there) == (None, 0)
        runs.assert_whole(direct, name)


@pytest.mark.engine
def test_a_refresh_counts_and_samples_every_document_although_shards_fail_now_and_then(
    engine: Engine,
    embeddings: Embeddings,
    tmp_path: Path,
    new_index: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0.001)
    name = new_index()
    with through_faults(engine.url, name, lambda number: "pass" if number % 3 == 2 else "partial", is_search) as (
        direct,
        store,
        proxy,
    ):
        pages = Pages(direct, name, embeddings, tmp_path)
        pages.add({str(number): "chat eau" for number in range(40)})
        pages.add({"more": "chat pain"})
        assert replace(pages, store=store).refresh() == Refreshed(name, 41, {"fr": 41}, ("fr",), 41)
        assert (pages.figures().n_documents, pages.figures().counts.tolist()) == (41, [41, 40, 1])
        assert len(pages.sample().languages["fr"]) == 41
        assert proxy.faults.count("partial") > 3


@pytest.mark.slow
def test_an_embedded_index_that_is_deleted_meanwhile_ends_the_run(embedded: WritableStore, runs: Runs) -> None:
    class Dropping(Stopping):
        def write_prepared(self, index, prepared):
            for result in super().write_prepared(index, prepared):
                if self.n_written == 600:
                    embedded.drop(index)
                yield result

    assert "no index" in str(runs(Dropping(embedded)).failure)
    assert runs(embedded).failure is None
    runs.assert_whole(embedded)


LIMITED = (
    "import resource, sys; limit = int(sys.argv.pop(1)); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)); "
    "from sinkrank.__main__ import main; main()"
)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [30_000, 400_000])
def test_a_disk_that_is_full_ends_the_run_in_one_line_and_the_next_one_goes_on(runs: Runs, limit: int) -> None:
    # No file may grow beyond so many bytes.
    arguments = runs.command(str(runs.folder / "store"), "pages", "--workers", "1")
    full = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *arguments], capture_output=True, text=True, check=False
    )
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "disk" in full.stderr
    freed = CliRunner().invoke(app, arguments, prog_name="sinkrank")
    assert "1,500 of 1,504 documents are in index" in freed.stdout, freed.stderr
    with closing(WritableEmbeddedStore(runs.folder / "store")) as store:
        runs.assert_whole(store)
        assert [version.run for version in store.versions("pages")] == [None]


@pytest.mark.parametrize("rebuild", [False, True])
def test_of_two_runs_that_make_an_index_at_once_the_second_is_refused_and_the_first_is_whole(
    store: WritableStore, index: str, runs: Runs, rebuild: bool
) -> None:
    other = write_rows(runs.folder / "other.jsonl", [{"id": "other", "lang": "fr", "text": "chat"}])
    if rebuild:
        runs(store, index, documents=other)

    class Nosy(Stopping):
        def save_idf(self, index_, table, before):
            with pytest.raises(BadInput, match="another run is making a version"):
                runs(store, index, rebuild=True, documents=other)
            return super().__getattr__("save_idf")(index_, table, before)

    assert runs(Nosy(store), index, rebuild=rebuild).failure is None
    runs.assert_whole(store, index)
    assert runs(store, index, rebuild=True, documents=other).failure is None
    assert [one.doc_id for one in store.bags(index)] == ["other"]


def test_an_index_that_another_run_has_just_made_is_added_to_and_not_replaced(
    embedded: WritableStore, runs: Runs
) -> None:
    other = write_rows(runs.folder / "other.jsonl", [{"id": "other", "lang": "fr", "text": "chat"}])

    class Slow(Stopping):
        def claim(self, index, owner, seconds):
            if not embedded.versions(index):
                runs(embedded, index)
            embedded.claim(index, owner, seconds)

    assert runs(Slow(embedded), documents=other).failure is None
    assert embedded.open("pages").count() == N_DOCUMENTS + 1


class Killed(Stopping):
    def release(self, index, owner):
        """A process that is killed releases nothing."""


def test_a_run_that_goes_on_has_the_claim_that_it_had(embedded: WritableStore, runs: Runs) -> None:
    with pytest.raises(KeyboardInterrupt):
        runs(Killed(embedded, after=1_000), rebuild=True)
    with pytest.raises(BadInput, match="another run is making a version"):
        runs(embedded, rebuild=True, documents=write_documents(runs.folder / "other.jsonl", 10))
    assert runs(embedded, rebuild=True).already_there > 0
    runs.assert_whole(embedded)


def test_a_run_that_has_lost_its_claim_lets_nothing_serve(embedded: WritableStore, runs: Runs) -> None:
    runs(embedded)

    class Robbed(Stopping):
        def refresh(self, index):
            for owner in owners:
                embedded.release("pages", owner)
            embedded.claim("pages", "another", 60)

        def claim(self, index, owner, seconds):
            owners.append(owner)
            embedded.claim(index, owner, seconds)

    owners: list[str] = []
    summary = runs(Robbed(embedded), rebuild=True)
    assert "another run is making a version" in str(summary.failure)
    assert [version.name for version in embedded.versions("pages") if version.is_serving] == ["pages-000001"]


def test_a_run_never_loses_its_claim_to_itself(store: WritableStore, index: str) -> None:
    """It checks the claim while a thread renews it all the time."""
    with Claim(store, index, "one", seconds=0.001) as claim:
        for _ in range(200):
            claim.check()


def test_a_claim_is_renewed_as_long_as_it_is_held(embedded: WritableStore) -> None:
    renewed = threading.Event()

    class Counting(Stopping):
        def claim(self, index, owner, seconds):
            embedded.claim(index, owner, seconds)
            self.n_written += 1
            if self.n_written == 3:
                renewed.set()

    with Claim(Counting(embedded), "pages", "one", seconds=0.4) as claim:
        assert renewed.wait(30)
        claim.check()
    embedded.claim("pages", "other", 60)
