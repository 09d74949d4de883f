"""The measures of a ranking of documents for one query with judgments, as trec_eval computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log2
from types import MappingProxyType

Measure = Callable[[Sequence[str], Mapping[str, int]], float]
"""Of the document ids in order, and the grade by document id; above 0 is relevant."""


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """DCG of the first `depth` documents over that of the best order (Järvelin and Kekäläinen 2002).

    DCG is the sum of grade / log2(rank + 1).
    """
    best = _dcg(sorted(grades.values(), reverse=True)[:depth])
    return _dcg([grades.get(doc, 0) for doc in ranking[:depth]]) / best if best else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    """1 / rank of the first relevant document; 0 without one."""
    return next((1 / rank for rank, doc in enumerate(ranking, start=1) if grades.get(doc, 0) > 0), 0.0)


def precision(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Share of relevant documents among `depth`."""
    return _n_relevant(ranking[:depth], grades) / depth


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Share of the relevant documents that are among the first `depth`."""
    return _n_relevant(ranking[:depth], grades) / max(1, _n_relevant(list(grades), grades))


def judged(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Share of judged documents, relevant or not, among the first `depth`."""
    first = ranking[:depth]
    return sum(doc in grades for doc in first) / max(1, len(first))


def _dcg(grades: Sequence[int]) -> float:
    return sum((max(grade, 0) / log2(rank + 1) for rank, grade in enumerate(grades, start=1)), start=0.0)


def _n_relevant(ranking: Sequence[str], grades: Mapping[str, int]) -> int:
    return sum(grades.get(doc, 0) > 0 for doc in ranking)


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "nDCG@10": partial(ndcg, depth=10),
        "MRR": reciprocal_rank,
        "P@1": partial(precision, depth=1),
        "P@10": partial(precision, depth=10),
        "R@100": partial(recall, depth=100),
        "judged@10": partial(judged, depth=10),
    }
)
"""The measures by their names in reports. `judged@10` is the share of judged documents among the first ten. If it is
low, a method that finds other documents looks worse than it is."""
