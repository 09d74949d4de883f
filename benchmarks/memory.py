"""Measures how fast rows of a large table are read, which is the limit for the costs of a short query."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.plain_kernels import plain
from benchmarks.timing import Times

# About the number of distinct terms of 500 candidates, with a vocabulary of 500,000.
N_ROWS = 31_000
# Larger than the caches. It is written before each round, so that no row is in them.
_FLUSHED_BYTES = 64 * 2**20


@plain
def _sum_rows(rows, row_ids, totals):  # type: ignore[no-untyped-def]
    """Adds up whole rows, the least work that reads every byte."""
    for place in range(len(row_ids)):
        row, total = rows[row_ids[place]], rows.dtype.type(0)
        for i in range(len(row)):
            total += row[i]
        totals[place] = total


def random_rows(embeddings: NDArray[np.float32], threads: int, rounds: int, seed: int) -> list[dict[str, Any]]:
    """ns per row and GB/s, the best of all rounds."""
    random, found = np.random.default_rng(seed), []
    row_bytes = embeddings.shape[1] * embeddings.itemsize
    for n_threads in sorted({1, threads}):
        times = Times()
        for _ in range(rounds + 1):
            row_ids = np.sort(random.choice(len(embeddings), N_ROWS, replace=False))
            np.ones(_FLUSHED_BYTES, np.uint8).sum()
            times.measure(partial(_read, embeddings, row_ids, n_threads))
        least = min(times.wall_ms[1:])  # the first compiles
        found.append(
            {
                "row_bytes": row_bytes,
                "threads": n_threads,
                "least_ms": round(least, 2),
                "least_cpu_ms": round(min(times.cpu_ms[1:]), 2),
                "gb_per_s": round(row_bytes * N_ROWS / least / 1e6, 1),
            }
        )
    return found


def _read(rows: NDArray[np.float32], row_ids: NDArray[np.int64], n_threads: int) -> None:
    totals = np.empty(len(row_ids), np.float32)
    parts = np.array_split(np.arange(len(row_ids)), n_threads)
    others = [
        threading.Thread(target=_sum_rows, args=(rows, row_ids[part], totals[part[0] : part[-1] + 1]))
        for part in parts[1:]
    ]
    for other in others:
        other.start()
    _sum_rows(rows, row_ids[parts[0]], totals[: len(parts[0])])
    for other in others:
        other.join()
