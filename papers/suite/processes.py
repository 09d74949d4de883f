"""Runs jobs in other processes, each one job at a time, and returns the results."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from ingest.progress import Progress
from reranker.base.errors import SinkrankError

Job = TypeVar("Job")
Result = TypeVar("Result")

Work = Callable[[Job, Progress], Result]
Report = Callable[[Job, int, int | None, str], None]
"""Like `Progress`, with the job as first argument."""

# Minimum time between two reports of a process; a person cannot read faster.
_REPORT_SECONDS = 0.2
# Before it ends, a process deletes the file that it was writing.
_END_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class Crew(Generic[Job, Result]):
    """Runs jobs in processes.

    Attributes:
        begin: called once in each process; returns the function that runs the jobs. The function, jobs and results must
            be picklable.
        needs: the names of what a job shares with others. The first job that needs it makes it, and others wait.
        n_processes: maximum number of processes at a time. Each computes with one thread.
    """

    begin: Callable[[], Work[Job, Result]]
    needs: Callable[[Job], Collection[str]]
    n_processes: int

    def results(self, jobs: Sequence[Job], report: Report[Job]) -> Iterator[tuple[Job, Result]]:
        """Yields each job with its result as it ends; jobs begin in order. However this ends, the processes end too.

        Raises:
            SinkrankError: a process was killed, or a job raised it.
            RuntimeError: a job raised another error, whose traceback is the message.
        """
        waiting, made = list(jobs), set[str]()
        hands = [_Hand(self.begin) for _ in range(min(self.n_processes, len(jobs)))]
        at_work: dict[_Hand, Job] = {}
        try:
            while True:
                for hand in hands:
                    if hand not in at_work and (job := self._next(waiting, made, at_work.values())) is not None:
                        waiting.remove(job)
                        at_work[hand] = job
                        hand.send(job)
                if not at_work:
                    return
                for hand in _heard(at_work):
                    message = hand.receive()
                    if isinstance(message, _Progress):
                        report(at_work[hand], message.done, message.total, message.description)
                    else:
                        done = at_work.pop(hand)
                        made.update(self.needs(done))
                        yield done, message
        finally:
            for hand in hands:
                hand.tell_to_end()
            for hand in hands:
                hand.end()

    def _next(self, waiting: Iterable[Job], made: set[str], at_work: Iterable[Job]) -> Job | None:
        in_the_making = {name for job in at_work for name in self.needs(job)} - made
        return next((job for job in waiting if in_the_making.isdisjoint(self.needs(job))), None)


def one_thread() -> Any:
    """A context in which each loaded library uses one thread. CPU times with several threads mean little, since some
    of them wait."""
    return threadpool_limits(1)


@dataclass(frozen=True)
class _Progress:
    done: int
    total: int | None
    description: str


@dataclass(frozen=True)
class _Failure:
    """The text of a job's error; not all errors can be pickled."""

    text: str
    is_ours: bool


class _Hand:
    """One process, and the connection to it."""

    def __init__(self, begin: Callable[[], Work[Any, Any]]) -> None:
        # Not forked: a child would have the locks of this process's threads, but not the threads.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, begin), daemon=True)
        self._process.start()
        theirs.close()  # otherwise we would not notice its end

    def send(self, job: Any) -> None:
        try:
            self.connection.send(job)
        except OSError:
            raise self._killed() from None

    def receive(self) -> Any:
        """Progress, or the result."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            raise self._killed() from None
        if isinstance(message, _Failure):
            raise SinkrankError(message.text) if message.is_ours else RuntimeError(message.text)
        return message

    def tell_to_end(self) -> None:
        self._process.terminate()
        self.connection.close()

    def end(self) -> None:
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _killed(self) -> SinkrankError:
        self._process.join(_END_SECONDS)
        return SinkrankError(
            f"a process was killed (exit code {self._process.exitcode}), by the system where memory is short; give the "
            "same command again, with SINKRANK_THREADS=1 for a single process: it goes on where it was"
        )


def _heard(hands: Collection[_Hand]) -> list[_Hand]:
    """Waits for messages and returns the processes that sent some."""
    ready = wait([hand.connection for hand in hands])
    return [hand for hand in hands if hand.connection in ready]


def _serve(connection: Connection, begin: Callable[[], Work[Any, Any]]) -> None:
    """Runs jobs in a process until the other end of the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        work = begin()
        while True:
            job = _receive(connection)
            with one_thread():
                result = work(job, _reporting(connection))
            _send(connection, result)
    except Exception as error:
        is_ours = isinstance(error, SinkrankError)
        _send(connection, _Failure(str(error) if is_ours else traceback.format_exc(), is_ours))


def _receive(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:
        sys.exit(0)


def _send(connection: Connection, message: Any) -> None:
    try:
        connection.send(message)
    except OSError:  # the parent has ended
        sys.exit(1)


def _reporting(connection: Connection) -> Progress:
    reported = 0.0

    def report(done: int, total: int | None, description: str) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= _REPORT_SECONDS:
            reported = now
            _send(connection, _Progress(done, total, description))

    return report
