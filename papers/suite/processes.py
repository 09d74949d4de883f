"""Runs jobs in other processes by joblib, and yields the results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from reranker.base.errors import SinkrankError

Job = TypeVar("Job")
Result = TypeVar("Result")


def results(
    work: Callable[[Job], Result], groups: Iterable[Sequence[Job]], n_processes: int
) -> Generator[tuple[Job, Result], None, None]:
    """Yields each job with its result as it ends. However this ends, the processes end too.

    Args:
        work: does a job; it, jobs and results must be picklable. It computes with one thread.
        groups: the jobs of a group begin when those before it have ended.

    Raises:
        SinkrankError: a process was killed.
    """
    is_done = False
    try:
        for jobs in groups:
            with parallel_config("loky", inner_max_num_threads=1):
                pool = Parallel(n_processes, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
            yield from pool(delayed(_with_its_job)(work, job) for job in jobs)
        is_done = True
    except TerminatedWorkerError as error:
        raise SinkrankError(
            "a process was killed, by the system where memory is short; give the same command again, with "
            "SINKRANK_THREADS=1 for a single process: it goes on where it was"
        ) from error
    finally:
        # Otherwise they would stay for the next call, with their collection in memory.
        get_reusable_executor().shutdown(wait=True, kill_workers=not is_done)


def one_thread() -> Any:
    """A context in which each loaded library uses one thread. CPU times with several threads mean little, since some
    of them wait."""
    return threadpool_limits(1)


def _with_its_job(work: Callable[[Job], Result], job: Job) -> tuple[Job, Result]:
    with one_thread():
        return job, work(job)
