"""Asking systems: what is kept, what is asked again, what is refused, and that no test page is learned from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Direction, Task
from papers.suite.asking import Candidate, Refusal, ask
from papers.suite.questions import Question, translations
from papers.suite.records import Records
from papers.systems.protocol import Distances
from reranker.base.errors import BadInput
from sinkrank.demo import CorpusPage, load_parallel_texts

EN_FR, FR_EN, EN_DE = Direction("en", "fr"), Direction("fr", "en"), Direction("en", "de")


class Spy:
    """A system that puts every document at the number of characters of its id, and remembers what it was shown."""

    description, data = "counts characters", "nothing"

    def __init__(self, name: str = "spy", fails: bool = False) -> None:
        self.name, self._fails = name, fails
        self.learned: list[CorpusPage] = []
        self.asked: list[Task] = []
        self.n_fits = 0

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        self.n_fits += 1
        if self._fails:
            raise BadInput("there is no dictionary")
        self.learned += pages

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        self.asked.append(task)
        row = [len(doc_id) for doc_id in task.documents]
        return Distances(np.array([row] * len(task.queries), dtype=np.float64), 1.0, 2.0)


@pytest.fixture(scope="module")
def corpus():
    return load_parallel_texts()


@pytest.fixture
def questions(corpus) -> list[Question]:
    return [translations(corpus, "texts", direction, "pages", 5) for direction in (EN_FR, FR_EN)]


@pytest.fixture
def records(tmp_path) -> Records:
    return Records(tmp_path / "records")


def asked(spy: Spy, questions, records, trained_on="h", made_with="") -> list[object]:
    candidate = Candidate(spy.name, lambda directions: spy, made_with)
    return list(ask(candidate, questions, (), trained_on, records))


def test_every_question_is_answered_by_a_system_that_learns_once_and_from_none_of_their_pages(
    corpus, questions, records
) -> None:
    spy = Spy()
    candidate = Candidate("spy", lambda directions: spy)
    found = list(ask(candidate, questions, corpus.train_pages, "h", records))

    assert [question.name for question, _ in found] == ["texts en-fr pages", "texts fr-en pages"]
    record = found[0][1]
    assert (record.cost.document_s, record.cost.query_s, record.system, record.data) == (1.0, 2.0, "spy", "nothing")
    assert record.measures["texts pages"].shape == (5, 5)
    assert spy.learned == list(corpus.train_pages)
    learned = {(page.language, page.page_id) for page in spy.learned}
    learned_texts = {page.text for page in spy.learned}
    for task in spy.asked:
        shown = {tuple(name.split("/", 1)) for name in (*task.queries, *task.documents)}
        assert shown
        assert not shown & learned
        assert not set(task.written.values()) & learned_texts


def test_what_is_kept_is_not_asked_again_and_nothing_is_fitted(corpus, questions, records) -> None:
    first = asked(Spy(), questions, records)
    spy = Spy()
    second = asked(spy, questions, records)

    assert (spy.asked, spy.learned) == ([], [])
    for (_, one), (_, other) in zip(first, second, strict=True):
        assert one.cost == other.cost
        assert np.array_equal(one.top, other.top)
        assert np.array_equal(one.measures["texts pages"], other.measures["texts pages"])


def test_a_suite_that_broke_off_goes_on_where_it_was(questions, records) -> None:
    spy = Spy()
    found = ask(Candidate("spy", lambda directions: spy), questions, (), "h", records)
    next(found)
    found.close()
    assert len(spy.asked) == 1

    spy = Spy()
    asked(spy, questions, records)
    assert [str(task.direction) for task in spy.asked] == ["fr-en"]


@pytest.mark.parametrize("change", ["trained_on", "made_with", "description", "question"])
def test_what_an_answer_depends_on_is_asked_again(change, corpus, questions, records) -> None:
    asked(Spy(), questions, records)
    spy = Spy()
    if change == "description":
        spy.description = "counts characters twice"
    if change == "question":
        questions = [translations(corpus, "texts", direction, "pages", 6) for direction in (EN_FR, FR_EN)]
    asked(spy, questions, records, **{change: "other"} if change in ("trained_on", "made_with") else {})

    assert len(spy.asked) == 2


def test_a_direction_that_a_system_cannot_do_is_refused_and_the_others_are_asked(corpus, records) -> None:
    questions = [translations(corpus, "texts", direction, "pages", 3) for direction in (EN_FR, EN_DE)]
    made: list[tuple[Direction, ...]] = []

    def make(directions: tuple[Direction, ...]) -> Spy:
        if EN_DE in directions:
            raise BadInput("there is no dictionary for en-de")
        made.append(directions)
        return Spy()

    answer, refusal = ask(Candidate("spy", make), questions, (), "h", records)

    assert answer[0] is questions[0]
    assert refusal == Refusal("spy", "texts en-de pages", "there is no dictionary for en-de")
    assert made[-1] == (EN_FR,)


def test_a_system_that_cannot_learn_is_refused_with_its_reason(questions, records) -> None:
    spy = Spy(fails=True)
    assert asked(spy, questions, records) == [
        Refusal("spy", question.name, "there is no dictionary") for question in questions
    ]
    assert spy.n_fits == 1


def test_a_distance_that_was_not_asked_for_is_not_found(questions, records) -> None:
    class Silent(Spy):
        def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
            return Distances(np.full((len(task.queries), len(task.documents)), np.nan), 0.0, 0.0)

    (_, record), _ = asked(Silent(), questions, records)

    assert (record.top == -1).all()
    assert not record.measures["texts pages"].any()
