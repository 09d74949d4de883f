"""Jobs in several processes: which may be done at once, what comes back, and that no process outlives the work."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from papers.suite.processes import Crew, one_thread
from reranker.base.errors import BadInput, SinkrankError

# Longer than any test should take: what waits as long was not ended.
_FOR_EVER_S = 300.0


def squares():
    return lambda job, progress: (job * job, os.getpid())


def says_its_process():
    def work(job, progress):
        progress(3, 4, str(os.getpid()))
        time.sleep(_FOR_EVER_S)

    return work


def fails():
    def work(job, progress):
        if job == "ours":
            raise BadInput("the page is empty; give one with words")
        if job == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError(job)

    return work


def makes(folder: Path):
    """`first` makes a file when `free` has begun; the others tell whether they find it."""

    def work(job, progress):
        if job == "free":
            (folder / "free").touch()
        if job == "first":
            give_up = time.monotonic() + _FOR_EVER_S
            while not (folder / "free").exists() and time.monotonic() < give_up:
                time.sleep(0.01)
            (folder / "made").touch()
        return (folder / "made").exists()

    return work


def counts_threads():
    np.ones((2, 2)) @ np.ones((2, 2))  # with NumPy comes a library that would take every core
    return lambda job, progress: max(each["num_threads"] for each in threadpool_info())


def nothing(job: object) -> tuple[str, ...]:
    return ()


def no_report(*_: object) -> None:
    pass


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_job_is_done_once_in_another_process() -> None:
    found = dict(Crew(squares, nothing, 2).results(range(6), no_report))

    assert {job: square for job, (square, _) in found.items()} == {0: 0, 1: 1, 2: 4, 3: 9, 4: 16, 5: 25}
    assert os.getpid() not in {process for _, process in found.values()}


def test_what_the_first_job_makes_is_there_when_others_that_need_it_begin(tmp_path: Path) -> None:
    crew = Crew(partial(makes, tmp_path), lambda job: () if job == "free" else ("file",), 2)
    found = dict(crew.results(["first", "second", "free", "third"], no_report))

    # The second waits for the first, which waits for one that needs nothing.
    assert (found["first"], found["second"], found["third"]) == (True, True, True)
    assert list(found)[-1] in ("second", "third")


def test_arithmetic_takes_one_thread_in_each_process_and_here_when_it_is_told_to() -> None:
    assert dict(Crew(counts_threads, nothing, 1).results(["job"], no_report)) == {"job": 1}
    with one_thread():
        assert counts_threads()("job", no_report) == 1


@pytest.mark.parametrize("ending", [KeyboardInterrupt, GeneratorExit], ids=["Ctrl-C", "nobody reads on"])
def test_processes_end_with_the_work_whatever_they_are_at(ending) -> None:
    said: dict[str, tuple[int, int]] = {}

    def report(job: str, done: int, total: int, description: str) -> None:
        said[job] = (done, total)
        processes.append(int(description))
        if len(said) == 2:
            raise ending

    processes: list[int] = []
    with pytest.raises(ending):
        list(Crew(says_its_process, nothing, 2).results(["a", "b"], report))

    assert said == {"a": (3, 4), "b": (3, 4)}
    assert not any(is_running(process) for process in processes)


@pytest.mark.parametrize(
    ("job", "error", "words"),
    [
        ("ours", SinkrankError, "give one with words"),
        ("killed", SinkrankError, r"killed \(exit code -9\).*SINKRANK_THREADS=1"),
        ("theirs", RuntimeError, "ValueError: theirs"),
    ],
)
def test_what_a_job_raises_is_raised_here(job, error, words) -> None:
    with pytest.raises(error, match=words):
        list(Crew(fails, nothing, 1).results([job], no_report))


def test_no_job_takes_no_process() -> None:
    assert list(Crew(fails, nothing, 2).results([], no_report)) == []
