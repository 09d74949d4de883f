"""Computes the figures of each table from answers: means, intervals, corrected p-values, costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.suite.classification import Classified, classify
from papers.suite.judging import MEASURES
from papers.suite.questions import Judgement, Question
from papers.suite.records import Record
from sinkrank.evaluation.statistics import Interval, bootstrap_interval, holm, randomisation_p

REFERENCE = "auto"
"""The reference: all other systems are compared with it."""

Answers = Sequence[tuple[Question, Record]]

Judged = dict[str, tuple[Judgement, Record]]
"""One system's answers to the questions of a table, by direction."""


@dataclass(frozen=True)
class Costs:
    """The costs of a system over the questions of one table.

    Attributes:
        fit_s: CPU time (s) of fitting.
        query_ms: CPU time (ms) for a query: its preparation and the distances to all documents.
        document_ms: CPU time (ms) for a document, once.
    """

    fit_s: float
    query_ms: float
    document_ms: float


@dataclass(frozen=True)
class Row:
    """One system in one table.

    Attributes:
        by_direction: MRR by direction; a direction that the system cannot do is missing.
        measures: means over the directions, with equal weights; empty if the system did not do all of the table.
        interval: of the MRR over all queries, with pages drawn with replacement; None if `measures` is empty.
        p: of the difference from the reference in MRR, by page, over the directions that both did, corrected by Holm;
            None for the reference itself, or if there is nothing to compare.
    """

    system: str
    by_direction: Mapping[str, float]
    measures: Mapping[str, float]
    interval: Interval | None
    p: float | None
    costs: Costs


@dataclass(frozen=True)
class Table:
    """A judgement over its directions.

    Attributes:
        n_queries: judged queries, by direction.
        n_documents: documents, by direction.
    """

    name: str
    collection: str
    directions: tuple[str, ...]
    n_queries: Mapping[str, int]
    n_documents: Mapping[str, int]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class ClassRow:
    """The classification of one system; `p` as in `Row`, by query."""

    system: str
    k: int
    error: Interval
    p: float | None
    costs: Costs


def tables(answers: Mapping[str, Answers]) -> list[Table]:
    """Makes the tables from answers by system, in the order of the questions and systems."""
    asked: dict[str, dict[str, tuple[Question, Judgement]]] = defaultdict(dict)
    found: dict[str, dict[str, Judged]] = defaultdict(dict)
    for system, given in answers.items():
        for question, record in given:
            for judgement in question.judgements:
                direction = str(question.task.direction)
                asked[judgement.name].setdefault(direction, (question, judgement))
                found[judgement.name].setdefault(system, {})[direction] = judgement, record
    return [_table(name, given, found[name]) for name, given in asked.items()]


def class_rows(answers: Mapping[str, Answers]) -> list[ClassRow]:
    """Makes the rows of classification; none if no system answered both of its questions."""
    classified: dict[str, tuple[Classified, Costs]] = {}
    for system, given in answers.items():
        by_kind = {question.task.query_kind: (question, record) for question, record in given if question.labels}
        if {"classes", "training"} <= by_kind.keys():
            question, record = by_kind["classes"]
            training = by_kind["training"][1]
            classes = [
                [question.labels[name] for name in side] for side in (question.task.queries, question.task.documents)
            ]
            classified[system] = classify(record.top, training.top, *classes), _costs([(question, record)])
    best = classified.get(REFERENCE)
    p_values = _corrected(
        {
            system: randomisation_p(best[0].wrong.astype(float) - each.wrong)
            for system, (each, _) in classified.items()
            if best and system != REFERENCE
        }
    )
    return [
        ClassRow(system, each.k, bootstrap_interval(each.wrong.astype(float), np.ones(len(each.wrong))),
                 p_values.get(system), costs)
        for system, (each, costs) in classified.items()
    ]  # fmt: skip


def _table(name: str, asked: Mapping[str, tuple[Question, Judgement]], found: Mapping[str, Judged]) -> Table:
    """Makes a table from the questions by direction, and the answers by system."""
    found = {
        system: {direction: given[direction] for direction in asked if direction in given}
        for system, given in found.items()
    }
    p_values = _corrected(
        {
            system: randomisation_p(_differences(each, found[REFERENCE]))
            for system, each in found.items()
            if system != REFERENCE and each.keys() & found.get(REFERENCE, {}).keys()
        }
    )
    rows = []
    for system, given in found.items():
        is_whole, by_page = given.keys() == asked.keys(), _by_page(given).values()
        means = {direction: record.measures[name].mean(axis=0) for direction, (_, record) in given.items()}
        overall = np.mean(list(means.values()), axis=0)
        rows.append(
            Row(
                system,
                {direction: float(mean[0]) for direction, mean in means.items()},
                dict(zip(MEASURES, map(float, overall), strict=True)) if is_whole else {},
                bootstrap_interval(list(map(sum, by_page)), list(map(len, by_page))) if is_whole else None,
                p_values.get(system),
                _costs([(asked[direction][0], record) for direction, (_, record) in given.items()]),
            )
        )
    return Table(
        name,
        next(iter(asked.values()))[0].collection,
        tuple(asked),
        {direction: len(judgement.qrels) for direction, (_, judgement) in asked.items()},
        {direction: len(question.task.documents) for direction, (question, _) in asked.items()},
        tuple(rows),
    )


def _by_page(answers: Judged) -> dict[str, list[float]]:
    """Groups the reciprocal ranks of queries by page, over all directions: a page's queries are not independent."""
    found: dict[str, list[float]] = defaultdict(list)
    for judgement, record in answers.values():
        for query_id, row in zip(judgement.qrels, record.measures[judgement.name], strict=True):
            found[query_id.partition("/")[2]].append(float(row[0]))
    return found


def _differences(ours: Judged, theirs: Judged) -> list[float]:
    """Returns for each page the summed difference in reciprocal rank, over the directions that both did."""
    shared = ours.keys() & theirs.keys()
    one, other = (
        _by_page({direction: answer for direction, answer in side.items() if direction in shared})
        for side in (ours, theirs)
    )
    return [sum(one[page]) - sum(other[page]) for page in one]


def _corrected(p_values: Mapping[str, float]) -> dict[str, float]:
    return dict(zip(p_values, holm(list(p_values.values())), strict=True))


def _costs(answers: Iterable[tuple[Question, Record]]) -> Costs:
    """Averages the costs over the questions."""
    taken = [(record.cost, len(question.task.queries), len(question.task.documents)) for question, record in answers]
    return Costs(
        float(np.mean([cost.fit_s for cost, _, _ in taken])),
        float(np.mean([1000 * cost.query_s / n for cost, n, _ in taken])),
        float(np.mean([1000 * cost.document_s / n for cost, _, n in taken])),
    )
