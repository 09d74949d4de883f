"""How alike systems rank, from what they have kept: worked out by hand, and never by asking them again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Direction, Task
from papers.suite.correlations import Correlation, correlations
from papers.suite.questions import Judgement, Question
from papers.systems.cached import CachedSystem
from papers.systems.protocol import Distances
from papers.tests.small_tasks import small_task
from sinkrank.demo import CorpusPage
from tests.demo.small_pages import page

FR_EN, EN_FR = Direction("fr", "en"), Direction("en", "fr")
PAGES = [page("1", "en", "cat")]
Ranks = dict[Direction, list[list[float]]]


class Table:
    """Distances by the direction of the task."""

    description, data = "a table", ""

    def __init__(self, name: str, by_direction: Ranks) -> None:
        self.name, self._by_direction = name, by_direction

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        pass

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        return Distances(np.array(self._by_direction[task.direction]), 0.0, 0.0)


def question(direction: Direction, table: str = "c pages", words: str = "") -> Question:
    task = small_task([f"chat {words}", "eau"], ["cat", "dog", "car"], [""], direction)
    return Question("c", task, (Judgement(table, {}), Judgement(f"{table}, related", {})))


QUESTIONS = [question(FR_EN), question(EN_FR)]
RANKS = {FR_EN: [[1, 2, 3], [1, 2, 3]], EN_FR: [[1, 2, 3], [1, 2, 3]]}


def cached(folder: Path, name: str, asked: Sequence[Question] = QUESTIONS, ranks: Ranks = RANKS) -> CachedSystem:
    """A system that has answered these questions."""
    system = CachedSystem(Table(name, ranks), folder, "e")
    if asked:
        system.fit(PAGES)
    for each in asked:
        system.distances(each.task)
    return system


def test_correlations_are_means_of_queries_then_of_directions(tmp_path) -> None:
    ranks = {FR_EN: [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], EN_FR: [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]}
    # Three ranks: 1 - 6 · sum of d² / (3 · 8). One swap of neighbours gives 1/2, the other order -1.
    others = {FR_EN: [[1, 3, 2], [9, 8, 7]], EN_FR: [[4, 5, 6], [6, 5, 4]]}
    systems = [cached(tmp_path, "one", ranks=ranks), cached(tmp_path, "other", ranks=others)]

    assert correlations(systems, PAGES, QUESTIONS) == (
        Correlation("c pages", "one", "other", pytest.approx({"fr-en": -1 / 4, "en-fr": 1}), pytest.approx(3 / 8)),
    )


def test_every_pair_of_every_table_is_compared_and_classification_is_not(tmp_path) -> None:
    asked = [question(FR_EN), question(FR_EN, "c first20"), Question("c", question(FR_EN).task)]
    found = correlations([cached(tmp_path, name, asked) for name in "abc"], PAGES, asked)

    assert [(each.table, each.first, each.second) for each in found] == [
        (table, *pair) for table in ("c pages", "c first20") for pair in (("a", "b"), ("a", "c"), ("b", "c"))
    ]


def test_a_direction_that_one_puts_in_no_order_is_left_out(tmp_path) -> None:
    flat = {**RANKS, EN_FR: [[1, 1, 1], [2, 2, 2]]}

    assert correlations([cached(tmp_path, "a"), cached(tmp_path, "b", ranks=flat)], PAGES, QUESTIONS) == (
        Correlation("c pages", "a", "b", {"fr-en": pytest.approx(1)}, pytest.approx(1)),
    )


def test_pairs_of_what_is_not_kept_are_left_out_and_nothing_is_learned_for_them(tmp_path) -> None:
    systems = [cached(tmp_path, name, asked) for name, asked in (("whole", QUESTIONS), ("half", QUESTIONS[:1]))]
    files = sorted(tmp_path.iterdir())
    found = correlations([*systems, cached(tmp_path, "never", [])], PAGES, QUESTIONS)

    assert [(each.first, each.second, list(each.by_direction)) for each in found] == [("whole", "half", ["fr-en"])]
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("change", ["made_with", "pages", "task"])
def test_what_was_kept_of_something_else_is_not_taken(change, tmp_path) -> None:
    for name in "ab":
        cached(tmp_path, name)
    systems = [CachedSystem(Table(name, RANKS), tmp_path, "other" if change == "made_with" else "e") for name in "ab"]
    pages = [page("1", "en", "dog")] if change == "pages" else PAGES

    assert correlations(systems, pages, [question(FR_EN, words="noir" if change == "task" else "")]) == ()
