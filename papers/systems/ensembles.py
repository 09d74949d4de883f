"""Joins the distances of several systems, and computes the rank correlation of two systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from scipy.stats import rankdata

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Task
from papers.systems.protocol import Distances, Matrix, System, fit
from sinkrank.demo.pages import CorpusPage

FUSION_K = 60
"""Cormack et al. 2009, as in the engines' own reciprocal rank fusion."""

Join = Callable[[Sequence[Matrix]], Matrix]


def averaged(members: Sequence[Matrix]) -> Matrix:
    """The mean of the distances (Zosa et al. 2020, section 3.2)."""
    return np.asarray(np.mean([_finite(values) for values in members], axis=0))


def normalised(members: Sequence[Matrix]) -> Matrix:
    """The mean of the distances, after the distances of each query are scaled to mean 0 and standard deviation 1."""
    scaled = []
    for values in map(_finite, members):
        deviation = values.std(axis=1, keepdims=True)
        scaled.append((values - values.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0))
    return np.asarray(np.mean(scaled, axis=0))


def fused(members: Sequence[Matrix]) -> Matrix:
    """Reciprocal rank fusion: minus the sum of 1 / (60 + rank), with ties at their mean rank."""
    return -np.asarray(np.sum([1.0 / (FUSION_K + rankdata(values, axis=1)) for values in members], axis=0))


JOINS: Mapping[str, tuple[Join, str]] = MappingProxyType(
    {
        "": (averaged, "mean of the distances"),
        "-normalised": (normalised, "mean of the distances at mean 0 and deviation 1 for each query"),
        "-fused": (fused, "reciprocal rank fusion, k 60"),
    }
)
"""The ways to join, by the suffix of an ensemble's name."""


class Ensemble:
    """Several systems, joined.

    Args:
        suffix: one of `JOINS`.

    Attributes:
        fit_s: CPU time (s, all threads) of fitting the members, now or earlier.
    """

    def __init__(self, name: str, members: Sequence[System], suffix: str = "") -> None:
        self.name, self._members = name, tuple(members)
        self._join, how = JOINS[suffix]
        self.fit_s = 0.0
        source = " (Zosa et al. 2020)" if not suffix else ""
        self.description = f"{how}{source} of: " + "; ".join(f"{each.name}, {each.description}" for each in members)

    @property
    def data(self) -> str:
        return "; ".join(dict.fromkeys(each.data for each in self._members if each.data))

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Fits each member."""
        self.fit_s = sum(fit(member, pages, progress) for member in self._members)

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The times are the sums of the members' times.

        If a member has no distance for a pair (+inf or NaN), its largest distance of that query is used. A pair without
        any distance stays at +inf.
        """
        found = [member.distances(task, progress) for member in self._members]
        members = [np.where(np.isnan(each.values), np.inf, each.values) for each in found]
        values = self._join(members)
        values[np.all([np.isinf(each) for each in members], axis=0)] = np.inf
        return Distances(values, sum(each.document_s for each in found), sum(each.query_s for each in found))


def rank_correlation(first: Matrix, second: Matrix) -> float:
    """Spearman's rank correlation of two systems, the mean over queries (Zosa et al. 2020, table 3): -1 to 1.

    Args:
        first, second: (n_queries, n_documents) distances; +inf and NaN rank last. Queries with equal distances to all
            documents in one of the systems are left out; NaN if no query is left.
    """
    found = []
    for one, other in zip(first, second, strict=True):
        ranks = [rankdata(np.where(np.isnan(row), np.inf, row)) for row in (one, other)]
        if all(each.std() > 0 for each in ranks):
            found.append(float(np.corrcoef(ranks)[0, 1]))
    return float(np.mean(found)) if found else float("nan")


def _finite(values: Matrix) -> Matrix:
    """Replaces +inf in each row with its largest finite distance, or 0 if it has none."""
    known = np.isfinite(values)
    largest = np.where(known, values, -np.inf).max(axis=1, keepdims=True)
    return np.where(known, values, np.where(np.isfinite(largest), largest, 0.0))
