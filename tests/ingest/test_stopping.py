"""A signal to the whole process group, as a terminal, `timeout` and systemd send it, ends ingest cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from reranker.embeddings import Embeddings
from reranker.stores.embedded.writable import WritableEmbeddedStore
from tests.ingest.runs import Runs, numbered_rows, start
from tests.support.commands import write_rows

pytestmark = pytest.mark.slow

# Enough that a run is not over when the last signal comes.
N_DOCUMENTS = 8_000
# Long beside any real run, so that only a hang takes so long.
LIMIT_SECONDS = 180
_random = Random(19)
SECONDS_AFTER_THE_FIRST_WORKER = sorted(round(_random.uniform(0, 1), 2) for _ in range(3))


@pytest.fixture(autouse=True)
def no_signal_is_ignored() -> Iterator[None]:
    """A shell in the background or nohup may have started the tests."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start_ingest(folder: Path, embeddings: Embeddings, n_workers: int = 3) -> subprocess.Popen[str]:
    path = folder / "in.jsonl"
    if not path.exists():
        write_rows(path, numbered_rows(N_DOCUMENTS))
        (folder / "temporary").mkdir()
    arguments = Runs(path, embeddings, folder).command(str(folder / "store"), "pages", "--workers", str(n_workers))
    return start(arguments, {**os.environ, "TMPDIR": str(folder / "temporary")})


def processes_of(group: int) -> list[int]:
    """The ids of the processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group_of_it = path.read_text().rpartition(") ")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(group_of_it) == group and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def wait_for_workers(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while len(processes_of(process.pid)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        (signal.SIGTERM, SECONDS_AFTER_THE_FIRST_WORKER[0]),
        pytest.param(signal.SIGINT, SECONDS_AFTER_THE_FIRST_WORKER[1], marks=pytest.mark.conformance),
        pytest.param(signal.SIGHUP, SECONDS_AFTER_THE_FIRST_WORKER[2], marks=pytest.mark.conformance),
    ],
)
def test_a_signal_to_the_group_ends_ingest_and_the_next_run_completes_it(
    tmp_path: Path, embeddings: Embeddings, number: signal.Signals, seconds: float
) -> None:
    process = start_ingest(tmp_path, embeddings)
    try:
        wait_for_workers(process)
        time.sleep(seconds)
        os.killpg(process.pid, number)
        _, stderr = process.communicate(timeout=LIMIT_SECONDS)
        assert process.returncode == 128 + number, stderr
        assert "Traceback" not in stderr
        deadline = time.monotonic() + LIMIT_SECONDS
        while processes_of(process.pid):  # multiprocessing's own ends by itself
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert list((tmp_path / "temporary").iterdir()) == []
    finally:
        for left in processes_of(process.pid):
            os.kill(left, signal.SIGKILL)
        process.communicate()

    assert_next_run_completes(tmp_path, embeddings)


def assert_next_run_completes(folder: Path, embeddings: Embeddings) -> None:
    last = start_ingest(folder, embeddings, n_workers=1)
    stdout, stderr = last.communicate(timeout=LIMIT_SECONDS)
    assert last.returncode == 0, stderr
    assert f"{N_DOCUMENTS:,} of {N_DOCUMENTS:,} documents" in stdout
    with closing(WritableEmbeddedStore(folder / "store")) as store:
        assert sorted(int(one.doc_id) for one in store.bags("pages")) == list(range(N_DOCUMENTS))
