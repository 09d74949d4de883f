"""Turns runs and qrels into figures, by ir-measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import ir_measures
from ir_measures import RR, P, Qrel, R, ScoredDoc, nDCG

MEASURES: Mapping[str, ir_measures.measures.Measure] = MappingProxyType(
    {"MRR": RR, "P@1": P @ 1, "P@10": P @ 10, "nDCG@10": nDCG @ 10}
)
"""The measures by their names in reports. With one relevant document for each query, P@10 is at most 0.1."""


def measure(qrels: Iterable[Qrel], run: Iterable[ScoredDoc]) -> dict[str, float]:
    """Returns the mean of each measure over the queries of the qrels; a query that finds nothing counts as 0.

    MRR: mean of 1 / rank of the relevant document, 0 if it is not in the run.
    P@k: share of relevant documents among the first k.
    nDCG@10: with one relevant document for each query, 1 / log2(rank + 1) if it is among the first 10.
    """
    found = ir_measures.calc_aggregate(list(MEASURES.values()), list(qrels), list(run))
    return {name: float(found[each]) for name, each in MEASURES.items()}


def recall(qrels: Iterable[Qrel], run: Iterable[ScoredDoc], depth: int) -> float:
    """R@depth: the share of queries whose document is among the first `depth`. It is the upper bound of re-ranking."""
    measure_at = R @ depth
    return float(ir_measures.calc_aggregate([measure_at], list(qrels), list(run))[measure_at])
