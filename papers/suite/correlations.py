"""Correlates the rankings of ensembles' members, from their cached distances (Zosa et al. 2020, table 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from ingest.progress import Progress, no_progress
from papers.suite.questions import Question
from papers.systems.cached import CachedSystem
from papers.systems.ensembles import rank_correlation
from sinkrank.demo.pages import CorpusPage


@dataclass(frozen=True)
class Correlation:
    """The rank correlation of two systems on one table.

    Attributes:
        by_direction: mean over the queries, -1 to 1. A direction is missing if the distances of one system are not
            cached, or if for every query all its distances are equal.
        mean: mean of the directions.
    """

    table: str
    first: str
    second: str
    by_direction: Mapping[str, float]
    mean: float


def correlations(
    systems: Sequence[CachedSystem],
    pages: Sequence[CorpusPage],
    questions: Iterable[Question],
    progress: Progress = no_progress,
) -> tuple[Correlation, ...]:
    """Correlates each pair of systems on each table, from their cached distances only: a system without them in a
    direction is left out there. Questions of classification have no judgement and no table.

    Args:
        pages: the training pages.
    """
    for system in systems:
        system.learns_from(pages)
    asked = [question for question in questions if question.judgements]
    pairs: dict[tuple[str, str, str], dict[str, float]] = {}
    for done, question in enumerate(asked):
        progress(done, len(asked), f"comparing rankings, {question.name}")
        table, direction = question.judgements[0].name, str(question.task.direction)
        cached = {system.name: system.cached(question.task) for system in systems}
        there = [(name, distances) for name, distances in cached.items() if distances is not None]
        for (first, one), (second, other) in combinations(there, 2):
            found = rank_correlation(one.values, other.values)
            if not isnan(found):
                pairs.setdefault((table, first, second), {})[direction] = found
    return tuple(Correlation(*names, each, sum(each.values()) / len(each)) for names, each in pairs.items())
