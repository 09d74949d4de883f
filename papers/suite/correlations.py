"""Correlates the rankings of ensembles' members, from their cached distances (Zosa et al. 2020, table 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from pathlib import Path

from evaluation.corpora.pages import Page
from evaluation.corpora.tasks import Task
from evaluation.systems.protocol import Distances, Matrix, System
from ingest.progress import Progress, no_progress
from papers.suite.questions import Question
from papers.systems.ensembles import rank_correlation
from papers.systems.kept import Kept
from reranker.base.errors import NotFound


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


@dataclass(frozen=True)
class Correlations:
    """The correlations by table and pair, and the systems without all distances in the cache."""

    found: tuple[Correlation, ...] = ()
    not_kept: tuple[str, ...] = ()


def correlations(
    systems: Sequence[System], questions: Iterable[Question], progress: Progress = no_progress
) -> Correlations:
    """Correlates each pair of systems on each table. Questions of classification have no judgement and no table.

    Args:
        systems: from `from_kept`.
    """
    asked = [question for question in questions if question.judgements]
    pairs: dict[tuple[str, str, str], dict[str, float]] = {}
    not_kept: set[str] = set()
    for done, question in enumerate(asked):
        progress(done, len(asked), f"comparing rankings, {question.name}")
        table, direction = question.judgements[0].name, str(question.task.direction)
        kept = {system.name: _kept(system, question.task) for system in systems}
        not_kept |= {name for name, values in kept.items() if values is None}
        there = [(name, values) for name, values in kept.items() if values is not None]
        for (first, one), (second, other) in combinations(there, 2):
            found = rank_correlation(one, other)
            if not isnan(found):
                pairs.setdefault((table, first, second), {})[direction] = found
    return Correlations(
        tuple(Correlation(*names, each, sum(each.values()) / len(each)) for names, each in pairs.items()),
        tuple(system.name for system in systems if system.name in not_kept),
    )


def from_kept(system: System, home: Path, made_with: str, pages: Sequence[Page]) -> System:
    """Makes a member of ensembles from its cached distances only, without fitting it.

    Args:
        system: from `make_systems`, for this home.
        made_with: version of its embeddings.
        pages: its training pages.
    """
    kept = Kept(_Mute(system), home / "evaluation" / "systems", made_with)
    with suppress(_NotKept):
        kept.fit(pages)
    return kept


def _kept(system: System, task: Task) -> Matrix | None:
    try:
        return system.distances(task).values
    except _NotKept:
        return None


class _NotKept(NotFound):
    pass


class _Mute:
    """The name of a system without the system, which may need minutes to fit."""

    def __init__(self, system: System) -> None:
        self.name, self.description, self.data = system.name, system.description, system.data

    def fit(self, pages: Sequence[Page], progress: Progress = no_progress) -> None:
        raise _NotKept(f"{self.name} has kept no distances")

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        raise _NotKept(f"{self.name} has kept no distances of {task.name}")
