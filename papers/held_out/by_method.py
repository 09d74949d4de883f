"""Turns the methods' results into the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from papers.base.measures import MEASURES
from papers.held_out.experiment import MethodResult, Plan, TaskResult
from papers.held_out.identical_spellings import StrippedResult

# Short, to fit a terminal of 80 columns; a note below the table explains it.
STRIPPED = "stripped"


def columns(plan: Plan) -> list[str]:
    everything = ["MRR, all re-ranked"] if plan.everything else []
    return ["direction", "method", "queries", *MEASURES, *everything, f"R@{plan.depth}"]


def rows(tasks: Sequence[TaskResult]) -> list[list[str]]:
    """Returns the rows for one kind of query: one for each direction and method, one without identical spellings, and
    the mean of several directions."""
    found = []
    for task in tasks:
        found += [_row(str(task.direction), task.n_queries, task.recall, result) for result in task.methods]
        if task.stripped is not None:
            found.append(_stripped_row(str(task.direction), task.n_queries, task.stripped, task.methods))
    if len(tasks) > 1:
        n_queries, recall = sum(task.n_queries for task in tasks), float(np.mean([task.recall for task in tasks]))
        found += [_row("mean", n_queries, recall, result) for result in means(tasks)]
        removed = [task.stripped for task in tasks if task.stripped is not None]
        if len(removed) == len(tasks):
            found.append(_stripped_row("mean", n_queries, _stripped_mean(removed), tasks[0].methods))
    return found


def _stripped_mean(results: Sequence[StrippedResult]) -> StrippedResult:
    return StrippedResult(
        results[0].method,
        _mean([each.measures for each in results]),
        float(np.mean([each.recall for each in results])),
        float(np.mean([each.removed_share for each in results])),
        sum(each.n_empty for each in results),
    )


def _stripped_row(direction: str, n_queries: int, result: StrippedResult, methods: Sequence[MethodResult]) -> list[str]:
    """Like `_row`, for re-ranked candidates only."""
    return [
        direction,
        f"{result.method}, {STRIPPED}",
        str(n_queries),
        *(f"{result.measures[name]:.3f}" for name in MEASURES),
        *(["–"] if any(each.everything for each in methods) else []),
        f"{result.recall:.3f}",
    ]


def means(tasks: Sequence[TaskResult]) -> list[MethodResult]:
    """Returns each method's mean over the tasks."""
    by_method = zip(*(task.methods for task in tasks), strict=True)
    return [
        MethodResult(
            results[0].method,
            _mean([result.two_stage for result in results]),
            _mean([each for result in results if (each := result.everything)]) if results[0].everything else None,
        )
        for results in by_method
    ]


def _mean(measures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([each[name] for each in measures])) for name in MEASURES}


def _row(direction: str, n_queries: int, recall: float, result: MethodResult) -> list[str]:
    return [
        direction,
        result.method,
        str(n_queries),
        *(f"{result.two_stage[name]:.3f}" for name in MEASURES),
        *([f"{result.everything['MRR']:.3f}"] if result.everything else []),
        f"{recall:.3f}",
    ]
