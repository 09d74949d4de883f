"""The interface of a system: it is fitted once, then computes the distances of a task's queries to its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ingest.progress import Progress, no_progress
from papers.base.stopwatch import Stopwatch
from papers.corpora.tasks import Task
from sinkrank.demo.pages import CorpusPage

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distances:
    """A system's distances for a task, and their cost.

    Attributes:
        values: (n_queries, n_documents), in the task's order; lower is better. +inf for a pair that the system cannot
            compare, NaN for one that it did not compute.
        document_s: CPU time (s, all threads) of the work that is done once for the documents.
        query_s: CPU time (s, all threads) of all queries: their preparation and the distances to all documents.
    """

    values: Matrix
    document_s: float
    query_s: float


class System(Protocol):
    """Orders documents in one language by a query in another.

    Call `fit` once, then `distances` for each task.
    """

    @property
    def name(self) -> str:
        """The name in lower case, as on the command line."""

    @property
    def description(self) -> str:
        """One line with the method, its constants and its source."""

    @property
    def data(self) -> str:
        """Data other than the corpus, with source and licence; empty for none."""

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Learns from the training pages, or fetches and loads its data. No test page is among the pages.

        Raises:
            SinkrankError: its data is not available.
        """

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """Computes the distance of each query to each document; progress counts the queries."""


Prepared = TypeVar("Prepared")


class TimedSystem(Generic[Prepared]):
    """A system whose work is timed in two parts: what is done once for the documents, and the rest."""

    name: str
    data = ""

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Does nothing: this system learns from no page."""

    def prepare(self, task: Task) -> Prepared:
        """Does what is done once for the documents."""
        raise NotImplementedError

    def compare(self, task: Task, documents: Prepared, progress: Progress) -> Matrix:
        """Returns `Distances.values`, from what `prepare` has returned."""
        raise NotImplementedError

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`."""
        preparing, asking = Stopwatch(), Stopwatch()
        with preparing.running():
            documents = self.prepare(task)
        with asking.running():
            values = self.compare(task, documents, progress)
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return Distances(values, preparing.seconds, asking.seconds)


@runtime_checkable
class LearnedBefore(Protocol):
    """A system that caches the result of `fit`.

    Attributes:
        fit_s: CPU time (s, all threads) of fitting, now or earlier.
    """

    fit_s: float


def fit(system: System, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> float:
    """Calls `System.fit` and returns the CPU time (s, all threads) of fitting, now or earlier."""
    watch = Stopwatch()
    with watch.running():
        system.fit(pages, progress)
    return system.fit_s if isinstance(system, LearnedBefore) else watch.seconds
