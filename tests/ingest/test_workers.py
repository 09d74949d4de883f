"""Pieces of work come back in their order, from however many processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from ingest.workers import Workers
from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import WritableStore
from tests.ingest.runs import assert_equal
from tests.stores.samples import ALL, query
from tests.support.commands import write_rows

pytestmark = pytest.mark.slow


class Add:
    """Adds what is shared, and says in which process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, shared: int, piece: int) -> tuple[int, int]:
        return shared + self.number + piece, os.getpid()


def kill_at_ten(shared: int, piece: int) -> int:
    if piece == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def fail_at_ten(shared: int, piece: int) -> int:
    if piece == 10:
        raise ValueError("ten")
    return piece


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(100, 2) as started:
        yield started


def test_results_come_in_the_order_of_the_pieces_and_functions_can_change(workers: Workers) -> None:
    first = list(workers.map(Add(1), range(50)))
    second = list(workers.map(Add(2), range(50)))
    assert [(piece, result) for piece, (result, _) in first] == [(piece, 101 + piece) for piece in range(50)]
    assert [result for _, (result, _) in second] == [102 + piece for piece in range(50)]
    processes = {process for _, (_, process) in first}
    assert os.getpid() not in processes
    assert processes >= {process for _, (_, process) in second} or len(processes) == 1


def test_pieces_are_read_as_a_stream(workers: Workers) -> None:
    n_read = 0

    def pieces():
        nonlocal n_read
        for number in range(1, 1_000):
            n_read += 1
            yield number

    results = workers.map(Add(0), pieces())
    next(results)
    assert n_read < 20
    results.close()


def test_a_worker_that_is_killed_is_said_so() -> None:
    with Workers(0, 2) as workers, pytest.raises(SinkrankError, match="--workers"):
        list(workers.map(kill_at_ten, range(50)))


def test_a_script_needs_no_guard_of_its_main_module(embeddings: Embeddings, tmp_path: Path) -> None:
    """A process that ran the script again would fail, or do twice what the script does before it indexes."""
    write_rows(tmp_path / "in.jsonl", [{"id": str(n), "lang": "fr", "text": "chat chien"} for n in range(2_500)])
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib, sys\n"
        "from ingest.files import open_sources\n"
        "from ingest.pipeline import Options, ingest\n"
        "from reranker.embeddings import Embeddings\n"
        "from reranker.stores import open_store\n"
        "print('once')\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "embeddings, store = Embeddings.open(sys.argv[2]), open_store(str(here / 'store'))\n"
        "with open_sources([str(here / 'in.jsonl')]) as sources:\n"
        "    options = Options(rejects=here / 'rejects.jsonl', n_workers=2)\n"
        "    print(ingest(sources, store, 'pages', embeddings, options).indexed)\n"
    )
    command = [sys.executable, str(script), str(tmp_path), str(embeddings.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n2500\n", "")


def test_no_module_is_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the user was run')")
    monkeypatch.chdir(tmp_path)
    with Workers(0, 2) as workers:
        assert [result for _, (result, _) in workers.map(Add(0), range(10))] == list(range(10))


def test_an_error_in_a_worker_comes_out(workers: Workers) -> None:
    with pytest.raises(ValueError, match="ten"):
        list(workers.map(fail_at_ten, range(50)))


def test_the_same_documents_come_out_of_one_process_and_of_two(
    embedded: WritableStore, embeddings: Embeddings, tmp_path: Path
) -> None:
    words = ("chat", "chien", "eau", "pain", "voiture", "inconnu")
    rows = [
        {"id": str(n % 2_400), "lang": "fr", "text": f"{words[n % 6]} {words[n % 5]}", "n": n} for n in range(2_500)
    ]
    path = write_rows(tmp_path / "in.jsonl", rows)
    summaries = []
    for n_workers in (1, 2):
        with open_sources([str(path)]) as sources:
            options = Options(rejects=tmp_path / f"{n_workers}.jsonl", n_workers=n_workers)
            summaries.append(ingest(sources, embedded, f"pages-{n_workers}", embeddings, options))
    assert [(one.indexed, one.rejected) for one in summaries] == [(2_400, 100)] * 2
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    assert embedded.open("pages-1").idf().version == embedded.open("pages-2").idf().version
    one, other = (embedded.open(f"pages-{n_workers}").knn(query(1, 0), 3_000, ALL) for n_workers in (1, 2))
    assert [(each.doc_id, each.first_stage_score) for each in one] == [
        (each.doc_id, each.first_stage_score) for each in other
    ]
    for number in (0, 7, 2_399):
        assert_equal(*(embedded.open(f"pages-{n_workers}").fetch(str(number)) for n_workers in (1, 2)))


def test_a_rejected_row_may_be_nested_deeper_than_pickle_goes(
    embedded: WritableStore, embeddings: Embeddings, tmp_path: Path
) -> None:
    rows = [{"id": str(n), "lang": "fr", "text": "chat"} for n in range(2_300)]
    deep = f'{{"id": "deep", "text": "chat", "a": {"[" * 600}{"]" * 600}}}'
    path = write_rows(tmp_path / "in.jsonl", [deep, *rows])
    with open_sources([str(path)]) as sources:
        options = Options(rejects=tmp_path / "rejects.jsonl", n_workers=2)
        summary = ingest(sources, embedded, "pages", embeddings, options)
    assert (summary.indexed, summary.rejected) == (2_300, 1)
    rejected = json.loads((tmp_path / "rejects.jsonl").read_text())
    assert (rejected["id"], rejected["raw"]) == ("deep", deep)
    assert "no field 'language'" in rejected["reason"]


def test_a_process_that_encodes_loads_neither_the_engines_client_nor_the_transport() -> None:
    """They take half of the time that it needs to start."""
    code = (
        "import ingest.encoding, reranker.stores.engine.actions, sys; print({'opensearchpy', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
