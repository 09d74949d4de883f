"""Runs whose node restarts, whose index is closed or deleted, whose disk is full or whose index another run wants
end, when they are given again, with exactly the documents of the input."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import urllib3
from typer.testing import CliRunner

from ingest.claims import CLAIM_SECONDS, Claim
from reranker.base import retries
from reranker.base.errors import BadInput
from reranker.base.retries import Backoff
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from reranker.stores.embedded.store import EmbeddedStore
from sinkrank.commands.app import app
from tests.engines.nodes import Node, start_node
from tests.engines.sources import Engine, chosen_engines, is_assembled
from tests.ingest.faulty_proxy import Fault, faulty_proxy, is_bulk
from tests.ingest.runs import N_DOCUMENTS, Stopping, assert_whole, command, dropped, run, write_rows
from tests.stores.test_claims import n_claims

pytestmark = pytest.mark.any_engine


def put(url: str, path: str, body: object = None, method: str = "PUT") -> None:
    answer = urllib3.request(method, f"{url}/{path}", json=body, timeout=60)
    assert answer.status == 200, answer.data


@pytest.mark.conformance  # it starts a node twice
@pytest.mark.engine
def test_a_node_that_is_killed_and_starts_again_in_the_middle_costs_no_document(
    documents: Path, embeddings: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = chosen_engines()[0]
    if not is_assembled(name):
        pytest.skip("only a node of our own can be killed")
    monkeypatch.setattr(retries, "ENGINE", Backoff(150, first_wait_s=0.2, longest_wait_s=1.0))
    with start_node(name) as node, faulty_proxy(node.url, lambda number: "pass") as proxy:
        again: list[subprocess.Popen[bytes]] = []

        def kill(number: int) -> Fault:
            if number == 2:
                again.append(restarted(node))
            return "pass"

        proxy.fault = kill
        store, direct = open_store(proxy.address), open_store(node.url)
        try:
            summary = run(documents, store, "pages", embeddings, tmp_path)
            if summary.failure is not None:  # what was asked of it while it started, other than to write
                summary = run(documents, store, "pages", embeddings, tmp_path)
            assert len(again) == 1
            assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
            assert_whole(direct, "pages", tmp_path / "r.jsonl")
        finally:
            store.close()
            direct.close()
            for process in again:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


def restarted(node: Node) -> subprocess.Popen[bytes]:
    """The node's process anew, on its port and with its data, after the one before was killed; it may not answer
    yet."""
    os.killpg(node.pid, signal.SIGKILL)
    node.process.wait()
    with (node.folder / "again.log").open("wb") as log:
        return subprocess.Popen(
            node.process.args,
            cwd=node.folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


@pytest.mark.engine
def test_a_node_that_is_away_for_a_while_and_then_not_ready_costs_no_document(
    engine: Engine,
    documents: Path,
    embeddings: Embeddings,
    tmp_path: Path,
    new_index: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a restart: a request is lost after the engine had it, then none gets through, then all are refused."""
    monkeypatch.setattr(retries, "ENGINE", Backoff(150, first_wait_s=0.01, longest_wait_s=0.02))
    name, away = new_index(), iter(["lost", *["cut"] * 30, *[503] * 30])
    n_bulks = 0

    def restart(number: int) -> Fault:
        return next(away, "pass") if n_bulks > 2 else "pass"

    def noting(path: str) -> bool:
        nonlocal n_bulks
        n_bulks += is_bulk(path)
        return True

    with (
        dropped(engine.url, name) as direct,
        faulty_proxy(engine.url, restart, noting) as proxy,
        closing(open_store(proxy.address)) as store,
    ):
        summary = run(documents, store, name, embeddings, tmp_path)
        assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
        assert {"lost", "cut", 503} <= set(proxy.faults)
        assert_whole(direct, name, tmp_path / "r.jsonl")


@pytest.mark.engine
def test_an_index_that_is_closed_takes_the_documents_when_it_is_open_again(
    engine: Engine, documents: Path, embeddings: Embeddings, tmp_path: Path, new_index: Callable[[], str]
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

    with (
        dropped(engine.url, name) as direct,
        faulty_proxy(engine.url, close) as proxy,
        closing(open_store(proxy.address)) as store,
    ):
        summary = run(documents, store, name, embeddings, tmp_path)
        assert opened.wait(30)
        assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
        assert_whole(direct, name, tmp_path / "r.jsonl")


@pytest.mark.engine
def test_an_index_that_is_deleted_meanwhile_is_not_made_anew_by_the_writing(
    engine: Engine, documents: Path, embeddings: Embeddings, tmp_path: Path, new_index: Callable[[], str]
) -> None:
    name = new_index()

    def delete(number: int) -> Fault:
        if number == 2:
            put(engine.url, f"{name}-000001", method="DELETE")
        return "pass"

    with (
        dropped(engine.url, name) as direct,
        faulty_proxy(engine.url, delete) as proxy,
        closing(open_store(proxy.address)) as store,
    ):
        first = run(documents, store, name, embeddings, tmp_path)
        assert first.failure is not None
        assert f"has no index '{name}-000001'" in first.failure
        assert urllib3.request("GET", f"{engine.url}/{name}*?expand_wildcards=all", timeout=30).json() == {}
        second = run(documents, store, name, embeddings, tmp_path)
        assert (second.failure, second.resumed_at) == (None, 0)
        assert_whole(direct, name, tmp_path / "r.jsonl")


@pytest.mark.slow
def test_an_embedded_index_that_is_deleted_meanwhile_ends_the_run(
    embedded: EmbeddedStore, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    class Dropping(Stopping):
        def write_prepared(self, index, prepared):
            for result in super().write_prepared(index, prepared):
                if self.n_written == 600:
                    embedded.drop(index)
                yield result

    assert "no index" in str(run(documents, Dropping(embedded), "pages", embeddings, tmp_path).failure)
    assert run(documents, embedded, "pages", embeddings, tmp_path).failure is None
    assert_whole(embedded, "pages", tmp_path / "r.jsonl")


LIMITED = (
    "import resource, sys; limit = int(sys.argv.pop(1)); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)); "
    "from sinkrank.__main__ import main; main()"
)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [30_000, 400_000])
def test_a_disk_that_is_full_ends_the_run_in_one_line_and_the_next_one_goes_on(
    documents: Path, embeddings: Embeddings, tmp_path: Path, limit: int
) -> None:
    # No file may grow beyond so many bytes: the checkpoint, the words beside it, the store.
    arguments = command(documents, str(tmp_path / "store"), "pages", tmp_path, embeddings, "--workers", "1")
    full = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *arguments], capture_output=True, text=True, check=False
    )
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert "disk" in full.stderr
    freed = CliRunner().invoke(app, arguments, prog_name="sinkrank")
    assert "1,500 of 1,504 documents are in index" in freed.stdout, freed.stderr
    with closing(EmbeddedStore(tmp_path / "store")) as store:
        assert_whole(store, "pages", tmp_path / "r.jsonl")
    assert list((tmp_path / "ingest").iterdir()) == []


@pytest.mark.parametrize("rebuild", [False, True])
def test_of_two_runs_that_make_an_index_at_once_the_second_is_refused_and_the_first_is_whole(
    store: Store, index: str, documents: Path, embeddings: Embeddings, tmp_path: Path, rebuild: bool
) -> None:
    other = write_rows(tmp_path / "other.jsonl", [{"id": "other", "lang": "fr", "text": "chat"}])
    if rebuild:
        run(other, store, index, embeddings, tmp_path)

    class Nosy(Stopping):
        def save_idf(self, index_, table):
            with pytest.raises(BadInput, match="another run is making a version"):
                run(other, store, index, embeddings, tmp_path, rebuild=True)
            super().__getattr__("save_idf")(index_, table)

    assert run(documents, Nosy(store), index, embeddings, tmp_path, rebuild=rebuild).failure is None
    assert_whole(store, index, tmp_path / "r.jsonl")
    assert run(other, store, index, embeddings, tmp_path, rebuild=True).failure is None
    assert [one.doc_id for one in store.bags(index)] == ["other"]


def test_an_index_that_another_run_has_just_made_is_added_to_and_not_replaced(
    embedded: EmbeddedStore, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    other = write_rows(tmp_path / "other.jsonl", [{"id": "other", "lang": "fr", "text": "chat"}])

    class Slow(Stopping):
        def claim(self, index, owner, seconds):
            if not embedded.versions(index):
                run(documents, embedded, index, embeddings, tmp_path)
            embedded.claim(index, owner, seconds)

    assert run(other, Slow(embedded), "pages", embeddings, tmp_path).failure is None
    assert embedded.count("pages") == N_DOCUMENTS + 1


def test_a_run_that_goes_on_has_the_claim_that_it_had(
    embedded: EmbeddedStore, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    class Killed(Stopping):
        def release(self, index, owner):
            """A process that is killed releases nothing."""

    with pytest.raises(KeyboardInterrupt):
        run(documents, Killed(embedded, after=1_000), "pages", embeddings, tmp_path, rebuild=True)
    with pytest.raises(BadInput, match="another run is making a version"):
        run(documents, embedded, "pages", embeddings, tmp_path / "elsewhere", rebuild=True)
    assert run(documents, embedded, "pages", embeddings, tmp_path, rebuild=True).resumed_at > 0
    assert_whole(embedded, "pages", tmp_path / "r.jsonl")


@pytest.mark.parametrize("continued", [True, False], ids=["the same input", "another input, later"])
def test_a_claim_that_a_killed_first_run_left_goes_with_the_next_run(
    new_index: Callable[[], str],
    store: Store,
    documents: Path,
    embeddings: Embeddings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    continued: bool,
) -> None:
    index = new_index()

    class Killed(Stopping):
        def release(self, index, owner):
            """A process that is killed releases nothing."""

    try:
        with pytest.raises(KeyboardInterrupt):
            run(documents, Killed(store, after=1_000), index, embeddings, tmp_path)
        assert n_claims(store, index) == 1
        folder = tmp_path if continued else tmp_path / "elsewhere"
        if not continued:
            now = time.time()
            monkeypatch.setattr(time, "time", lambda: now + CLAIM_SECONDS + 1)
        assert run(documents, store, index, embeddings, folder).failure is None
        assert n_claims(store, index) == 0
    finally:
        store.drop(index)


def test_a_run_that_has_lost_its_claim_lets_nothing_serve(
    embedded: EmbeddedStore, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    run(documents, embedded, "pages", embeddings, tmp_path)

    class Robbed(Stopping):
        def refresh(self, index):
            for owner in owners:
                embedded.release("pages", owner)
            embedded.claim("pages", "another", 60)

        def claim(self, index, owner, seconds):
            owners.append(owner)
            embedded.claim(index, owner, seconds)

    owners: list[str] = []
    summary = run(documents, Robbed(embedded), "pages", embeddings, tmp_path, rebuild=True)
    assert "another run is making a version" in str(summary.failure)
    assert [version.name for version in embedded.versions("pages") if version.is_serving] == ["pages-000001"]


def test_a_claim_is_renewed_as_long_as_it_is_held(embedded: EmbeddedStore) -> None:
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
