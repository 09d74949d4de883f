"""What is asked in one go, and which jobs are begun first."""

from __future__ import annotations

import pytest

from papers.corpora.tasks import Direction
from papers.suite.collections import Collection
from papers.suite.jobs import Job, is_asked, longest_first
from papers.suite.questions import Question, translations
from papers.suite.suite import EPSILONS, Suite
from sinkrank.demo import load_parallel_texts

EN_FR, FR_EN = Direction("en", "fr"), Direction("fr", "en")


@pytest.fixture(scope="module")
def corpus():
    return load_parallel_texts()


def question(corpus, kind: str = "pages", direction: Direction = EN_FR, collection: str = "libreoffice") -> Question:
    return translations(corpus, collection, direction, kind, 3)


def collection(corpus, *questions: Question) -> Collection:
    return Collection("c", "C", "shipped", "Apache-2.0", corpus, corpus, questions)


def test_what_takes_long_is_begun_first() -> None:
    names = ["tf-idf", "wmd", "mltm", "auto"]

    assert sorted(names, key=lambda name: longest_first(Job(name))) == ["mltm", "wmd", "tf-idf", "auto"]


def test_slow_systems_are_asked_the_small_questions_alone(corpus) -> None:
    asked = [
        question(corpus, kind, direction, of)
        for of, kind, direction in (
            ("libreoffice", "pages", EN_FR),
            ("libreoffice", "halves", EN_FR),
            ("libreoffice", "pages", FR_EN),
            ("gnome", "pages", EN_FR),
        )
    ]
    assert [is_asked(Job("emd"), each) for each in asked] == [True, False, False, False]
    assert [is_asked(Job("sinkhorn", 0.5), each) for each in asked] == [True, False, False, False]
    assert all(is_asked(Job("auto"), each) for each in asked)


def test_the_table_of_lambda_belongs_to_sinkhorn_and_a_job_without_a_question_is_none(corpus) -> None:
    asked = collection(corpus, question(corpus))
    by_lambda = [Job("sinkhorn", epsilon) for epsilon in EPSILONS]

    assert Suite(("sinkhorn", "emd")).jobs(asked) == [Job("sinkhorn"), Job("emd"), *by_lambda]
    assert Suite(("tf-idf", "emd")).jobs(asked) == [Job("tf-idf"), Job("emd")]
    assert Suite(("sinkhorn", "emd"), quick=True).jobs(asked) == [Job("sinkhorn"), *by_lambda]
    assert Suite(("sinkhorn", "emd")).jobs(collection(corpus, question(corpus, direction=FR_EN))) == [Job("sinkhorn")]
