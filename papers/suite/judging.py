"""Turns the distances of a task into rankings, and rankings into each query's measures, by ir-measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import ir_measures
import numpy as np
from ir_measures import RR, P, nDCG
from numpy.typing import NDArray

from papers.suite.questions import Judgement
from papers.systems.runs import strictly_falling

MEASURES: Mapping[str, ir_measures.measures.Measure] = MappingProxyType(
    {"MRR": RR, "P@1": P @ 1, "P@5": P @ 5, "P@10": P @ 10, "nDCG@10": nDCG @ 10}
)
"""The measures by their names in reports; for one query they are the reciprocal rank, precisions and gain."""


def rankings(distances: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Returns for each row the positions of its finite distances, nearest first, ties by position."""
    return [
        order[np.isfinite(row[order])]
        for row, order in zip(distances, np.argsort(distances, kind="stable"), strict=True)
    ]


def top(
    distances: NDArray[np.float64], ranked: Sequence[NDArray[np.intp]], depth: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Returns (n_queries, depth) the positions of the nearest documents and their scores; -1 and 0 for no more."""
    places = np.full((len(ranked), depth), -1, dtype=np.int32)
    scores = np.zeros((len(ranked), depth), dtype=np.float32)
    for row, order in enumerate(ranked):
        first = order[:depth]
        places[row, : len(first)] = first
        scores[row, : len(first)] = strictly_falling([-float(distances[row, place]) for place in first])
    return places, scores


def judged(
    judgement: Judgement, query_ids: Sequence[str], doc_ids: Sequence[str], ranked: Sequence[NDArray[np.intp]]
) -> NDArray[np.float32]:
    """Returns (n_judged, n_measures) in the order of the judgement's qrels; 0 for a query that finds nothing."""
    names = np.array(doc_ids, dtype=object)
    run = {
        query_id: _scored(names[order], judgement.hidden.get(query_id))
        for query_id, order in zip(query_ids, ranked, strict=True)
        if query_id in judgement.qrels
    }
    rows = {query_id: row for row, query_id in enumerate(judgement.qrels)}
    columns = {measure: column for column, measure in enumerate(MEASURES.values())}
    found = np.zeros((len(rows), len(columns)), dtype=np.float32)
    qrels = {query_id: dict(relevant) for query_id, relevant in judgement.qrels.items()}
    for metric in ir_measures.iter_calc(list(MEASURES.values()), qrels, run):
        found[rows[metric.query_id], columns[metric.measure]] = metric.value
    return found


def _scored(doc_ids: NDArray[np.object_], hidden: str | None) -> dict[str, float]:
    """Makes scores that fall by rank, so that no measure orders ties in its own way."""
    ranked = [doc_id for doc_id in doc_ids if doc_id != hidden]
    return {doc_id: float(len(ranked) - rank) for rank, doc_id in enumerate(ranked)}
