"""The ten nearest of real pages by exact transport: prefetch and prune against POT on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.peers import SIDES
from benchmarks.timing import in_turn
from benchmarks.workload import Workload
from reranker.transport import nearest_by_emd

K = 10


def compare(works: Iterable[Workload], n_threads: int, rounds: int) -> list[dict[str, Any]]:
    """Median ms of both sides for each query, whether they agree, and the share of candidates that was solved."""
    return [_compare_one(work, n_threads, rounds) for work in works]


def _compare_one(work: Workload, n_threads: int, rounds: int) -> dict[str, Any]:
    solve_all = next(side.solve for side in SIDES if side.name == "POT emd2")
    found = nearest_by_emd(work.query, work.candidates, work.embeddings, K, n_threads=n_threads)
    every = solve_all(work, 1)
    runs = {
        "pruned": lambda: nearest_by_emd(work.query, work.candidates, work.embeddings, K, n_threads=n_threads),
        "all": lambda: solve_all(work, 1),
    }
    times = {side: taken.summary for side, taken in in_turn(runs, rounds).items()}
    return {
        "workload": work.name,
        "n_query_words": len(work.query),
        "n_candidates": len(work.candidates),
        "share_solved": round(found.n_solved / len(work.candidates), 3),
        # The peer's costs are in float32, which moves a distance by some 1e-5.
        "same_top": bool(np.allclose(np.sort(every)[:K], found.values, atol=1e-4)),
        "times": times,
        "speed_up": round(times["all"]["median_ms"] / times["pruned"]["median_ms"], 1),
    }
