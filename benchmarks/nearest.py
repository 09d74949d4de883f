"""Times the ten nearest of many documents by exact transport, compared with POT on all documents."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import SIDES
from benchmarks.timing import in_turn
from benchmarks.workload import Workload
from reranker.transport import nearest_documents

K = 10
# The peer's costs assume rows of norm 1, which changes a distance by some 1e-5.
PEER_TOLERANCE = 1e-4


def compare_exact(works: Iterable[Workload], n_threads: int, rounds: int) -> list[dict[str, Any]]:
    """For each query: median ms of both sides and their threads, whether they agree, the share of exact solves."""
    return [_exact(work, n_threads, rounds) for work in works]


def _exact(work: Workload, n_threads: int, rounds: int) -> dict[str, Any]:
    solve_all = partial(next(side.solve for side in SIDES if side.name == "POT emd2"), work, 1)
    prune = partial(nearest_documents, work.query, work.candidates, work.embeddings, K, "emd", n_threads=n_threads)
    every, found = solve_all(), prune()
    times = {side: taken.summary for side, taken in in_turn({"pruned": prune, "all": solve_all}, rounds).items()}
    return {
        "workload": work.name,
        "n_query_words": len(work.query),
        "n_candidates": len(work.candidates),
        "share_solved": round(found.n_solved / len(work.candidates), 3),
        "same_top": _equally_near(every, found.order, PEER_TOLERANCE),
        # POT's solver always uses one thread, and one thread is the fastest for its small cost matrices.
        "threads": {"pruned": n_threads, "all": 1},
        "times": times,
        "speed_up": round(times["all"]["median_ms"] / times["pruned"]["median_ms"], 2),
    }


def _equally_near(every: NDArray[np.float64], order: NDArray[np.int64], tolerance: float) -> bool:
    """Whether the documents of an order have, rank by rank, the distances of the nearest of all."""
    return bool((np.abs(every[order] - np.sort(every)[: len(order)]) <= tolerance).all())
