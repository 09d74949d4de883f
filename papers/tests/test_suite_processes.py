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

from papers.suite.processes import one_thread, results
from reranker.base.errors import BadInput, SinkrankError

# Longer than any test should take: what waits as long was not ended.
_FOR_EVER_S = 300.0


def square(job):
    return job * job, os.getpid()


def stays(folder: Path, job):
    if job == "stays":
        (folder / str(os.getpid())).touch()
        time.sleep(_FOR_EVER_S)
    while not list(folder.iterdir()):
        time.sleep(0.01)
    return os.getpid()


def fails(job):
    if job == "ours":
        raise BadInput("the page is empty; give one with words")
    if job == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError(job)


def makes(folder: Path, job):
    """`first` makes a file; the others tell whether they find it."""
    if job == "first":
        time.sleep(0.2)
        (folder / "made").touch()
    return (folder / "made").exists()


def n_threads(_job):
    np.ones((2, 2)) @ np.ones((2, 2))  # with NumPy comes a library that would take every core
    return max(each["num_threads"] for each in threadpool_info())


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_job_is_done_once_in_another_process_that_ends_with_the_work() -> None:
    found = dict(results(square, [range(6)], 2))

    assert {job: squared for job, (squared, _) in found.items()} == {0: 0, 1: 1, 2: 4, 3: 9, 4: 16, 5: 25}
    processes = {process for _, process in found.values()}
    assert os.getpid() not in processes
    assert not any(map(is_running, processes))


def test_what_a_group_makes_is_there_when_the_next_one_begins(tmp_path: Path) -> None:
    found = dict(results(partial(makes, tmp_path), [["first", "free"], ["second", "third"]], 2))

    assert (found["first"], found["second"], found["third"]) == (True, True, True)
    assert set(list(found)[:2]) == {"first", "free"}


def test_arithmetic_takes_one_thread_in_each_process_and_here_when_it_is_told_to() -> None:
    assert dict(results(n_threads, [["job"]], 2)) == {"job": 1}
    with one_thread():
        assert n_threads("job") == 1


@pytest.mark.filterwarnings("ignore:.*have been cancelled")
def test_processes_end_when_nobody_reads_on_whatever_they_are_at(tmp_path: Path) -> None:
    found = results(partial(stays, tmp_path), [["stays", "ends"]], 2)
    assert next(found)[0] == "ends"
    (busy,) = (int(file.name) for file in tmp_path.iterdir())
    assert is_running(busy)

    found.close()

    assert not is_running(busy)


@pytest.mark.parametrize(
    ("job", "error", "words"),
    [
        ("ours", BadInput, "give one with words"),
        ("killed", SinkrankError, "a process was killed.*SINKRANK_THREADS=1"),
        ("theirs", ValueError, "theirs"),
    ],
)
def test_what_a_job_raises_is_raised_here(job, error, words) -> None:
    with pytest.raises(error, match=words):
        list(results(fails, [[job]], 2))
