"""What a system is: something that learns once and then gives the distances of a task's queries to its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evaluation.base.stopwatch import Stopwatch
from evaluation.corpora.pages import Page
from evaluation.corpora.tasks import Task
from ingest.progress import Progress, no_progress

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distances:
    """What a system says of a task, and what it took.

    Attributes:
        values: (n_queries, n_documents), in the task's order; lower is better. +inf where there is nothing to go by,
            NaN where nothing was asked for.
        document_s: CPU time (s, all threads) of all that is done once for the documents, whatever is asked.
        query_s: CPU time (s, all threads) of all queries: their own preparation and the distances to every document.
    """

    values: Matrix
    document_s: float
    query_s: float


class System(Protocol):
    """A way to order documents in one language by a query in another.

    Every system is asked the same: `fit` once, then `distances` for each task.
    """

    @property
    def name(self) -> str:
        """Lower case, as people give it on the command line."""

    @property
    def description(self) -> str:
        """What it does, with its constants and its source, in one line."""

    @property
    def data(self) -> str:
        """What it rests on beside the corpus, with source and licence; empty for nothing."""

    def fit(self, pages: Sequence[Page], progress: Progress = no_progress) -> None:
        """Learns from the training pages, or fetches and loads what it needs; no test page is among them.

        Raises:
            SinkrankError: what it needs cannot be had.
        """

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """The distance of each query to each document; progress counts the queries."""


@runtime_checkable
class LearnedBefore(Protocol):
    """A system whose `fit` may find that it has learned already.

    Attributes:
        fit_s: CPU time (s, all threads) of learning, whenever that was.
    """

    fit_s: float


def fit(system: System, pages: Sequence[Page], progress: Progress = no_progress) -> float:
    """`System.fit`, and the CPU time (s, all threads) that learning took, now or when it was first done."""
    watch = Stopwatch()
    with watch.running():
        system.fit(pages, progress)
    return system.fit_s if isinstance(system, LearnedBefore) else watch.seconds
