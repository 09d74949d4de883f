"""Turns the results of systems into the rows of a table with quality, cost and the mean of the directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.base.measures import MEASURES
from papers.base.stopwatch import three_digits
from papers.held_out.experiment import SystemResult, TaskResult

COLUMNS = ("direction", "system", "queries", *MEASURES, "ms a query", "ms a document")

READING = (
    "Every system ranks all documents. Times are CPU time of all threads: *a query* is its preparation and the "
    "distances to all documents, *a document* what it takes once, before any query."
)


def rows(tasks: Sequence[TaskResult]) -> list[list[str]]:
    """The rows for one kind of query: one for each direction and system, then the mean of several directions."""
    found = [_row(str(task.direction), task.n_queries, result) for task in tasks for result in task.systems]
    if len(tasks) > 1:
        n_queries = sum(task.n_queries for task in tasks)
        found += [_row("mean", n_queries, mean) for mean in means(tasks)]
    return found


def means(tasks: Sequence[TaskResult]) -> list[SystemResult]:
    """Each system's mean over the tasks."""
    by_system = zip(*(task.systems for task in tasks), strict=True)
    return [
        SystemResult(
            results[0].system,
            {name: float(np.mean([result.measures[name] for result in results])) for name in MEASURES},
            float(np.mean([result.document_ms for result in results])),
            float(np.mean([result.query_ms for result in results])),
        )
        for results in by_system
    ]


def _row(direction: str, n_queries: int, result: SystemResult) -> list[str]:
    return [
        direction,
        result.system,
        str(n_queries),
        *(f"{result.measures[name]:.3f}" for name in MEASURES),
        three_digits(result.query_ms),
        three_digits(result.document_ms),
    ]
