"""Turns the results of the methods into the rows of one table: two stages beside all documents re-ranked, with the mean
of the directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.experiment import MethodResult, Plan, TaskResult
from evaluation.measures import MEASURES


def columns(plan: Plan) -> list[str]:
    everything = ["MRR, all re-ranked"] if plan.everything else []
    return ["direction", "method", "queries", *MEASURES, *everything, f"R@{plan.depth}"]


def rows(tasks: Sequence[TaskResult]) -> list[list[str]]:
    """One row a direction and method, of tasks of one kind of query; then the mean of the directions, if several."""
    found = [
        _row(str(task.direction), task.n_queries, task.recall, result) for task in tasks for result in task.methods
    ]
    if len(tasks) > 1:
        n_queries, recall = sum(task.n_queries for task in tasks), float(np.mean([task.recall for task in tasks]))
        found += [_row("mean", n_queries, recall, result) for result in means(tasks)]
    return found


def means(tasks: Sequence[TaskResult]) -> list[MethodResult]:
    """Each method's mean over the tasks, every direction counted once."""
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
