"""Runs that are killed, refused and cut off end, when they are given again, with exactly the documents of the input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import urllib3

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from ingest.summary import Summary
from reranker.base import retries
from reranker.base.errors import BadInput, NotFound
from reranker.base.retries import Backoff
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from tests.engines.sources import Engine
from tests.ingest.faulty_proxy import Fault, faulty_proxy

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]

N_DOCUMENTS = 1_500
N_REJECTS = 4
N_MANY = 3_000
"""As many pieces as are worth several processes."""
WORDS = ("chat", "chien", "eau", "pain", "voiture")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("documents") / "in.jsonl", N_DOCUMENTS)


@pytest.fixture(scope="module")
def many_documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("documents") / "in.jsonl", N_MANY)


def write_rows(path: Path, n_documents: int) -> Path:
    """So many documents, with a row that is none after each 500, and one that comes twice."""
    with path.open("w") as file:
        for number in range(n_documents):
            text = f"{WORDS[number % 5]} {WORDS[number % 3]} {number}"
            file.write(json.dumps({"id": str(number), "lang": "fr", "text": text}) + "\n")
            if number % 500 == 0:
                file.write(f"broken {number}\n")
        file.write(json.dumps({"id": "7", "lang": "fr", "text": "chat"}) + "\n")
    return path


def assert_whole(store: Store, index: str, rejects: Path, n_documents: int = N_DOCUMENTS) -> None:
    """Each document once, and each reject once."""
    store.refresh(index)
    assert sorted(int(one.doc_id) for one in store.bags(index)) == list(range(n_documents))
    assert store.count(index) == n_documents
    assert store.idf(index).languages["fr"].n_documents == n_documents
    rows = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [row["raw"] for row in rows[:-1]] == [f"broken {number}" for number in range(0, n_documents, 500)]
    assert "the id '7' occurred before" in rows[-1]["reason"]
    for number in (0, 7, n_documents - 1):
        assert str(number) in store.fetch(index, str(number)).document.text


def run(
    documents: Path, store: Store, index: str, embeddings: Embeddings, folder: Path, rebuild: bool = False
) -> Summary:
    with open_sources([str(documents)]) as sources:
        options = Options(rejects=folder / "r.jsonl", checkpoints=folder / "checkpoints", rebuild=rebuild, n_workers=1)
        return ingest(sources, store, index, embeddings, options)


def start(documents: Path, address: str, index: str, folder: Path, embeddings: Embeddings) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "sinkrank", "ingest", str(documents), "--index", index, "--store", address),
            *("--embeddings", str(embeddings.path), "--home", str(folder), "--rejects", str(folder / "r.jsonl")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.engine
def test_a_run_that_is_killed_again_and_again_ends_with_exactly_the_documents(
    first_engine: Engine, many_documents: Path, embeddings: Embeddings, tmp_path: Path, new_index: Callable[[], str]
) -> None:
    index, n_killed = new_index(), 0
    direct = open_store(first_engine.url)
    try:
        with faulty_proxy(first_engine.url, lambda number: "slow") as proxy:
            for wanted in (300, 1_500):
                process = start(many_documents, proxy.address, index, tmp_path, embeddings)
                deadline = time.monotonic() + 300
                while process.poll() is None and time.monotonic() < deadline and written(direct, index) < wanted:
                    time.sleep(0.02)
                if process.poll() is None:
                    n_killed += 1
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
            proxy.fault = lambda number: "pass"
            last = start(many_documents, proxy.address, index, tmp_path, embeddings)
            stdout, stderr = last.communicate(timeout=300)
        assert n_killed == 2
        assert last.returncode == 1, stderr  # for the rejects
        assert b"3,000 of 3,007 documents are in index" in stdout
        assert b"going on after row" in stdout
        assert_whole(direct, index, tmp_path / "r.jsonl", N_MANY)
        assert list((tmp_path / "ingest").iterdir()) == []
    finally:
        with suppress(NotFound):
            direct.drop(index)
        direct.close()


def written(store: Store, index: str) -> int:
    try:
        store.refresh(index)
        return store.count(index)
    except NotFound:
        return 0


def test_a_killed_process_leaves_no_worker_behind(many_documents: Path, embeddings: Embeddings, tmp_path: Path) -> None:
    process = start(many_documents, str(tmp_path / "store"), "pages", tmp_path, embeddings)
    children: set[int] = set()
    deadline = time.monotonic() + 3000
    while process.poll() is None and time.monotonic() < deadline and len(children) < 2:
        children = descendants(process.pid)
        time.sleep(0.01)
    assert children
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.05)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


def descendants(pid: int) -> set[int]:
    with suppress(OSError):
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return set()


SCHEDULES: dict[str, Callable[[int], Fault]] = {
    "overloaded": lambda number: 429 if number % 3 else "pass",
    "unavailable": lambda number: 503 if number % 3 else "pass",
    "cut before the engine had it": lambda number: "cut" if number % 3 else "pass",
    "cut after the engine had it": lambda number: "lost" if number % 3 else "pass",
    "half of the documents refused": lambda number: "items" if number % 2 else "pass",
    "everything": lambda number: (429, "lost", "pass", "items", 503, "cut", "pass", 502)[number % 8],
}


@pytest.mark.engine
@pytest.mark.parametrize(
    "schedule",
    ["everything", *(pytest.param(one, marks=pytest.mark.conformance) for one in SCHEDULES if one != "everything")],
)
def test_a_run_against_a_node_that_fails_now_and_then_ends_with_exactly_the_documents(
    first_engine: Engine,
    documents: Path,
    embeddings: Embeddings,
    tmp_path: Path,
    new_index: Callable[[], str],
    schedule: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retries, "ENGINE", Backoff(8, 0.001))
    index = new_index()
    with faulty_proxy(first_engine.url, SCHEDULES[schedule]) as proxy:
        faulty = open_store(proxy.address)
        for _ in range(20):
            summary = run(documents, faulty, index, embeddings, tmp_path)
            if summary.failure is None:
                break
        assert len(set(proxy.faults)) > 1
        faulty.close()
    store = open_store(first_engine.url)
    try:
        assert (summary.indexed, summary.rejected) == (N_DOCUMENTS, N_REJECTS)
        assert_whole(store, index, tmp_path / "r.jsonl")
    finally:
        store.drop(index)
        store.close()


@pytest.mark.engine
def test_a_node_that_stays_away_ends_the_run_and_the_next_one_goes_on_there(
    engine: Engine,
    documents: Path,
    embeddings: Embeddings,
    tmp_path: Path,
    new_index: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retries, "ENGINE", Backoff(8, 0.001))
    index, direct = new_index(), open_store(engine.url)
    try:
        with faulty_proxy(engine.url, lambda number: "pass" if number < 3 else "cut") as proxy:
            faulty = open_store(proxy.address)
            first = run(documents, faulty, index, embeddings, tmp_path)
            faulty.close()
        assert first.failure is not None
        assert 0 < first.indexed < N_DOCUMENTS
        assert first.checkpoint is not None
        assert first.checkpoint.exists()
        # The checkpoint names the store by its address; the proxy's is another.
        with faulty_proxy(engine.url, lambda number: "pass") as healthy:
            again = open_store(healthy.address)
            second = run(documents, again, index, embeddings, tmp_path)
            again.close()
        assert (second.failure, second.indexed) == (None, N_DOCUMENTS)
        assert_whole(direct, index, tmp_path / "r.jsonl")
    finally:
        direct.drop(index)
        direct.close()


@pytest.mark.engine
def test_an_index_that_a_full_disk_has_blocked_takes_the_documents_when_it_is_free_again(
    engine: Engine, documents: Path, embeddings: Embeddings, tmp_path: Path, new_index: Callable[[], str]
) -> None:
    index, direct = new_index(), open_store(engine.url)
    blocked = threading.Event()

    def block(number: int) -> Fault:
        if number == 2:
            set_block(engine.url, index, True)
            blocked.set()
            threading.Timer(1.5, set_block, (engine.url, index, None)).start()
        return "pass"

    try:
        with faulty_proxy(engine.url, block) as proxy:
            store = open_store(proxy.address)
            summary = run(documents, store, index, embeddings, tmp_path)
            store.close()
        assert blocked.is_set()
        assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
        assert_whole(direct, index, tmp_path / "r.jsonl")
    finally:
        set_block(engine.url, index, None)
        direct.drop(index)
        direct.close()


def set_block(url: str, index: str, value: bool | None) -> None:
    body = {"index.blocks.read_only_allow_delete": value}
    assert urllib3.request("PUT", f"{url}/{index}/_settings", json=body, timeout=30).status == 200


def test_a_run_goes_on_at_the_row_where_it_was(
    store: Store, index: str, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    stopping = Stopping(store, after=1_000)
    with pytest.raises(KeyboardInterrupt):
        run(documents, stopping, index, embeddings, tmp_path)
    counting = Stopping(store, after=None)
    summary = run(documents, counting, index, embeddings, tmp_path)
    assert summary.resumed_at == 1_002  # documents 0 to 999, and the broken rows after 0 and 500
    assert counting.n_written == N_DOCUMENTS - 1_000
    assert (summary.read, summary.indexed, summary.rejected) == (N_DOCUMENTS + N_REJECTS, N_DOCUMENTS, N_REJECTS)
    assert_whole(store, index, tmp_path / "r.jsonl")


def test_a_rebuild_that_was_stopped_leaves_the_index_as_it_was_and_goes_on(
    store: Store, index: str, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "old", "lang": "fr", "text": "chat"}\n')
    run(other, store, index, embeddings, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(documents, Stopping(store, after=1_000), index, embeddings, tmp_path, rebuild=True)
    assert [one.doc_id for one in store.bags(index)] == ["old"]
    summary = run(documents, store, index, embeddings, tmp_path, rebuild=True)
    assert summary.resumed_at > 0
    assert (summary.version, summary.previous_version) == (f"{index}-000002", f"{index}-000001")
    assert_whole(store, index, tmp_path / "r.jsonl")
    assert [version.name for version in store.versions(index)] == [f"{index}-000001", f"{index}-000002"]


def test_an_empty_version_that_a_killed_run_left_is_deleted_by_the_next(
    store: Store, index: str, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    """It was killed after it had created the version and before its checkpoint had the name."""

    class Killed(Stopping):
        def save_hubness_sample(self, index, sample):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(documents, Killed(store, after=None), index, embeddings, tmp_path)
    (left,) = store.versions(index)
    assert not left.is_serving
    run(documents, store, index, embeddings, tmp_path)
    assert [version.name for version in store.versions(index)] in ([f"{index}-000002"], [f"{index}-000001"])
    assert_whole(store, index, tmp_path / "r.jsonl")


def test_a_run_whose_index_is_gone_begins_anew(
    store: Store, index: str, documents: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(documents, Stopping(store, after=1_000), index, embeddings, tmp_path)
    store.drop(index)
    summary = run(documents, store, index, embeddings, tmp_path)
    assert summary.resumed_at == 0
    assert_whole(store, index, tmp_path / "r.jsonl")


def test_a_file_that_has_changed_is_read_from_its_beginning(embeddings: Embeddings, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    documents = tmp_path / "in.jsonl"
    rows = [json.dumps({"id": str(number), "lang": "fr", "text": "chat"}) + "\n" for number in range(100)]
    documents.write_text("".join(rows))
    with pytest.raises(KeyboardInterrupt):
        run(documents, Stopping(store, after=50), "pages", embeddings, tmp_path)
    documents.write_text("".join(reversed(rows)) + rows[0].replace('"0"', '"new"'))
    summary = run(documents, store, "pages", embeddings, tmp_path)
    assert (summary.resumed_at, summary.indexed, store.count("pages")) == (0, 101, 101)
    store.close()


def test_the_same_input_cannot_be_brought_in_twice_at_once(embeddings: Embeddings, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    documents = tmp_path / "in.jsonl"
    documents.write_text('{"id": "1", "lang": "fr", "text": "chat"}\n')

    class Nosy(Stopping):
        def write_prepared(self, index, prepared):
            with pytest.raises(BadInput, match="another process"):
                run(documents, store, "pages", embeddings, tmp_path)
            return super().write_prepared(index, prepared)

    assert run(documents, Nosy(store, None), "pages", embeddings, tmp_path).indexed == 1
    store.close()


class Stopping:
    """Counts the documents that are written, and is interrupted after some."""

    def __init__(self, store: Store, after: int | None) -> None:
        self._store = store
        self._after = after
        self.n_written = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write_prepared(self, index, prepared):
        for result in self._store.write_prepared(index, prepared):
            if self.n_written == self._after:
                raise KeyboardInterrupt
            self.n_written += 1
            yield result
