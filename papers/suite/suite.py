"""Asks every system every question of the suite and collects the results for a report."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from ingest.progress import Progress, no_progress
from papers.base.names import check_name
from papers.corpora.tasks import Direction
from papers.suite import collections
from papers.suite.asking import Refusal
from papers.suite.collections import Collection, Load
from papers.suite.correlations import Correlation, correlations
from papers.suite.jobs import (
    SLOW,
    SLOW_TO_LEARN,
    Done,
    Job,
    Workshop,
    do_in_process,
    is_asked,
    longest_first,
)
from papers.suite.processes import one_thread, results
from papers.suite.questions import Question
from papers.suite.records import Record
from papers.suite.results import ClassRow, Table, class_rows, tables
from papers.systems.catalogue import ALL_NAMES, CACHED_NAMES, ENSEMBLE_MEMBERS, make_cached
from papers.systems.surroundings import Surroundings
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings

COLLECTIONS: Mapping[str, Load] = {
    "libreoffice": collections.libreoffice,
    "gnome": collections.gnome_help,
    "manpages": collections.manual_pages,
    "packages": collections.packages,
}

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Values of epsilon for the table of lambda = 1 / epsilon (Balikas et al. 2018, figure 2)."""


@dataclass(frozen=True)
class Suite:
    """What to measure.

    Attributes:
        systems: names of systems, each once.
        collections: names of collections; the quick form ignores them.
        directions: None for English to each other language of a collection and back.
        n_processes: maximum number of processes at a time, each with one system and one thread.
    """

    systems: tuple[str, ...] = ALL_NAMES
    collections: tuple[str, ...] = tuple(COLLECTIONS)
    directions: tuple[Direction, ...] | None = None
    quick: bool = False
    n_processes: int = 1

    def __post_init__(self) -> None:
        for name in self.systems:
            check_name(name, ALL_NAMES, "a system of the suite")
        for name in self.collections:
            check_name(name, tuple(COLLECTIONS), "a collection of the suite")

    @property
    def loads(self) -> Sequence[Load]:
        return (collections.quick,) if self.quick else [COLLECTIONS[name] for name in self.collections]

    def jobs(self, collection: Collection) -> list[Job]:
        """Returns a job for each system, and those of the table of lambda if `sinkhorn` is among the systems."""
        names = [name for name in self.systems if not (self.quick and name in SLOW | SLOW_TO_LEARN)]
        by_lambda = [Job("sinkhorn", epsilon) for epsilon in EPSILONS] if "sinkhorn" in names else []
        jobs = [*(Job(name) for name in names), *by_lambda]
        return [job for job in jobs if any(is_asked(job, each) for each in collection.questions)]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results on one collection.

    Attributes:
        answers: answers by system, in the suite's order.
        by_epsilon: MRR of `sinkhorn` by kind of query and epsilon, mean of `SLOW_DIRECTIONS`; empty if not measured.
    """

    collection: Collection
    embeddings: Embeddings
    answers: Mapping[str, Sequence[tuple[Question, Record]]]
    refusals: tuple[Refusal, ...]
    by_epsilon: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    correlations: tuple[Correlation, ...] = ()

    @cached_property
    def tables(self) -> list[Table]:
        return tables(self.answers)

    @cached_property
    def class_rows(self) -> list[ClassRow]:
        return class_rows(self.answers)


def run(suite: Suite, home: Path, progress: Progress = no_progress) -> list[Outcome]:
    """Measures all collections. Each answer is stored at once in `home/evaluation/papers/records`.

    Raises:
        BadInput: no collection has any of the directions.
        SinkrankError: a collection is missing and cannot be fetched, or a process was killed.
    """
    found = [outcome for load in suite.loads if (outcome := _outcome(suite, load, home, progress)) is not None]
    if not found:
        asked = ", ".join(map(str, suite.directions or ()))
        raise BadInput(f"no collection has pages in both languages of {asked}; give directions between others")
    return found


def _outcome(suite: Suite, load: Load, home: Path, progress: Progress) -> Outcome | None:
    """None if the collection has none of the directions."""
    collection = load(home, suite.directions, progress)
    if not collection.questions:
        return None
    shop = Workshop(collection, collection.embeddings(home, progress), home)
    done = _done(suite, load, shop, progress)
    answers = {
        job.system: [(each, found.answers[each.name]) for each in collection.questions if each.name in found.answers]
        for job, found in done.items()
        if job.epsilon is None and found.answers
    }
    return Outcome(
        collection,
        shop.embeddings,
        answers,
        tuple(refusal for found in done.values() for refusal in found.refusals),
        _by_epsilon(collection, done),
        _correlations(shop, answers, progress),
    )


def _done(suite: Suite, load: Load, shop: Workshop, progress: Progress) -> dict[Job, Done]:
    """Returns the results of all jobs of the collection, in the suite's order."""
    jobs = suite.jobs(shop.collection)
    done: dict[Job, Done] = {}
    name = f"measuring on {shop.collection.name}"
    progress(len(done), len(jobs), name)
    with closing(_results(suite, load, shop, jobs)) as ended:
        for job, found in ended:
            done[job] = found
            progress(len(done), len(jobs), f"{name}, {job.system} done")
    return {job: done[job] for job in jobs}


def _results(suite: Suite, load: Load, shop: Workshop, jobs: Sequence[Job]) -> Generator[tuple[Job, Done], None, None]:
    """Yields the jobs as they end. A single job runs here: another process would load the collection again."""
    if min(suite.n_processes, len(jobs)) > 1:
        work = partial(do_in_process, load, shop.home, suite.directions)
        ensembles = [job for job in jobs if job.system in ENSEMBLE_MEMBERS]
        others = sorted((job for job in jobs if job.system not in ENSEMBLE_MEMBERS), key=longest_first)
        yield from results(work, [others, ensembles], suite.n_processes)  # of members, distances are cached
        return
    for job in jobs:
        with one_thread():
            found = shop.do(job)
        yield job, found


def _correlations(
    shop: Workshop, answers: Mapping[str, Sequence[tuple[Question, Record]]], progress: Progress
) -> tuple[Correlation, ...]:
    """Correlates the systems with answers and cached distances, over their questions."""
    names = [name for name in CACHED_NAMES if name in answers]
    questions = [question for question, _ in answers[names[0]]] if names else []
    directions = tuple(dict.fromkeys(question.task.direction for question in questions))
    given = Surroundings(directions, shop.home, embeddings=shop.embeddings)
    systems = [make_cached(name, given) for name in names]
    return correlations(systems, shop.collection.learning.train_pages, questions, progress)


def _by_epsilon(collection: Collection, done: Mapping[Job, Done]) -> dict[str, dict[float, float]]:
    reached: dict[str, dict[float, list[float]]] = {}
    for job, found in done.items():
        for question in collection.questions:
            if job.epsilon is not None and question.name in found.answers:
                measures = found.answers[question.name].measures[question.judgements[0].name]
                by_kind = reached.setdefault(question.task.query_kind, {})
                by_kind.setdefault(job.epsilon, []).append(float(measures[:, 0].mean()))
    return {
        kind: {epsilon: sum(values) / len(values) for epsilon, values in by_epsilon.items()}
        for kind, by_epsilon in reached.items()
    }


def answered(outcomes: Iterable[Outcome]) -> list[tuple[str, Question, Record]]:
    """Lists every system, question and answer of the outcomes."""
    return [
        (system, question, record)
        for outcome in outcomes
        for system, given in outcome.answers.items()
        for question, record in given
    ]
