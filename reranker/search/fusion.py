"""Joins two first stages into one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from reranker.text.documents import Candidate

# The constant of reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009).
RRF_K = 60


def reciprocal_rank_fusion(
    runs: Sequence[Sequence[Candidate]],
    depth: int,
    weights: Sequence[float] | None = None,
    also: Collection[str] = (),
) -> list[Candidate]:
    """The `depth` documents of the highest sum of 1 / (60 + rank) over the runs; ties by best rank, then by id.

    Args:
        weights: of the runs, each 0 or more; 1 each where there are none. A run of weight 0 brings nothing.
        also: ids of documents that are taken behind the `depth` too, where a run brings them.

    >>> reciprocal_rank_fusion([], 10)
    []
    """
    weights = [1.0] * len(runs) if weights is None else weights
    fused: dict[str, float] = {}
    best: dict[str, Candidate] = {}
    for run, weight in zip(runs, weights, strict=True):
        for candidate in run if weight > 0 else ():
            doc_id = candidate.doc_id
            fused[doc_id] = fused.get(doc_id, 0.0) + weight / (RRF_K + candidate.first_stage_rank)
            if doc_id not in best or candidate.first_stage_rank < best[doc_id].first_stage_rank:
                best[doc_id] = candidate
    order = sorted(fused, key=lambda doc_id: (-fused[doc_id], best[doc_id].first_stage_rank, doc_id))
    order = order[:depth] + [doc_id for doc_id in order[depth:] if doc_id in also]
    return [
        replace(best[doc_id], first_stage_score=fused[doc_id], first_stage_rank=rank)
        for rank, doc_id in enumerate(order, start=1)
    ]
