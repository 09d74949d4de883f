"""Asks systems the questions of the suite and caches each answer."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Direction
from papers.suite.judging import judged, rankings, top
from papers.suite.questions import Question
from papers.suite.records import RECORD_DEPTH, RECORD_FORMAT, Cost, Record, Records
from papers.systems.protocol import System, fit
from reranker.base.errors import SinkrankError
from sinkrank.demo.pages import CorpusPage

MakeSystem = Callable[[tuple[Direction, ...]], System]
"""Makes a system for directions; raises SinkrankError if the system cannot do them."""


@dataclass(frozen=True)
class Candidate:
    """A system to measure: its name, a function that makes it, and a hash of its embeddings."""

    name: str
    make: MakeSystem
    made_with: str = ""


@dataclass(frozen=True)
class Refusal:
    """The reason why a system was not asked."""

    system: str
    question: str
    reason: str


def ask(
    candidate: Candidate,
    questions: Sequence[Question],
    train_pages: Sequence[CorpusPage],
    trained_on: str,
    records: Records,
    progress: Progress = no_progress,
) -> Iterator[tuple[Question, Record] | Refusal]:
    """Yields the answer to each question, or the reason why there is none. Fits the system only if an answer is
    missing.

    Args:
        trained_on: a hash of the training pages.
    """
    directions = tuple(dict.fromkeys(question.task.direction for question in questions))
    system, supported, reason = _made(candidate, directions)
    fit_s: float | None = None
    for question in questions:
        if system is None or question.task.direction not in supported:
            yield Refusal(candidate.name, question.name, reason)
            continue
        digest = _digest(candidate, system, question, trained_on)
        record = records.get(digest)
        if record is None:
            try:
                if fit_s is None:
                    fit_s = fit(system, train_pages, progress)
                record = _answer(system, question, fit_s, progress)
            except SinkrankError as error:
                reason = str(error)
                if fit_s is None:
                    system = None  # a system that could not learn is not asked again
                yield Refusal(candidate.name, question.name, reason)
                continue
            records.put(digest, record)
        yield question, record


def _made(candidate: Candidate, directions: tuple[Direction, ...]) -> tuple[System | None, tuple[Direction, ...], str]:
    """Returns the system for the directions that it can do, these directions, and why it cannot do the others."""
    try:
        return candidate.make(directions), directions, ""
    except SinkrankError as error:
        reason = str(error)
    supported = []
    for direction in directions:
        try:
            candidate.make((direction,))
        except SinkrankError as error:
            reason = str(error)
        else:
            supported.append(direction)
    return (candidate.make(tuple(supported)) if supported else None), tuple(supported), reason


def _answer(system: System, question: Question, fit_s: float, progress: Progress) -> Record:
    found = system.distances(question.task, progress)
    distances = np.where(np.isnan(found.values), np.inf, found.values)
    ranked = rankings(distances)
    places, scores = top(distances, ranked, RECORD_DEPTH)
    query_ids, doc_ids = list(question.task.queries), list(question.task.documents)
    return Record(
        system.name,
        system.description,
        system.data,
        Cost(fit_s, found.document_s, found.query_s),
        places,
        scores,
        {each.name: judged(each, query_ids, doc_ids, ranked) for each in question.judgements},
    )


def _digest(candidate: Candidate, system: System, question: Question, trained_on: str) -> str:
    """Returns a hash of everything that decides the answer, with the source of the system's module.

    Answers in one direction do not depend on the other directions of the system.
    """
    source = inspect.getsourcefile(type(system))
    whole = [
        RECORD_FORMAT, RECORD_DEPTH, metadata.version("sinkrank"),
        hashlib.blake2b(Path(source).read_bytes() if source else b"", digest_size=16).hexdigest(),
        candidate.name, system.description, system.data, candidate.made_with,
        trained_on, question.digest,
    ]  # fmt: skip
    return hashlib.blake2b(json.dumps(whole).encode(), digest_size=16).hexdigest()
