"""How time grows with candidates and words, and what memory a large call takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.peers import EPSILON, N_ITERATIONS
from benchmarks.timing import in_turn
from benchmarks.workload import clustered_embeddings, synthetic
from reranker.transport import Parameters, distances

EXACTLY = Parameters(EPSILON, N_ITERATIONS, stop_at=0.0)
CANDIDATES = (125, 250, 500, 1000, 2000)
WORDS = (25, 50, 100, 200, 400)


def growth(embeddings: Any, n_threads: int, rounds: int, seed: int) -> dict[str, dict[str, Any]]:
    """Median ms of a query of 100 words, by the number of candidates of 100 words, and by the words of 500 candidates.

    `exponent` is the slope of log time over log size: 1 is linear; fixed work and shared terms make it less.
    """
    found = {}
    for name, sizes in (("candidates", CANDIDATES), ("words", WORDS)):
        runs = {}
        for size in sizes:
            shape = (size, 100) if name == "candidates" else (500, size)
            runs[str(size)] = _run(embeddings, seed, *shape, n_threads)
        for run in runs.values():
            run()
        times = in_turn(runs, rounds)
        wall = [median(times[str(size)].wall_ms) for size in sizes]
        cpu = [median(times[str(size)].cpu_ms) for size in sizes]
        slope = float(np.polyfit(np.log(sizes), np.log(cpu), 1)[0])
        found[name] = {
            "sizes": list(sizes),
            "median_ms": [round(x, 2) for x in wall],
            "cpu_median_ms": [round(x, 2) for x in cpu],
            "exponent_of_cpu": round(slope, 2),
        }
    return found


def _run(embeddings: Any, seed: int, n_candidates: int, n_words: int, n_threads: int) -> Any:
    work = synthetic(100, embeddings, seed, n_candidates, n_words)
    return lambda: distances(work.query, work.candidates, work.embeddings, "sinkhorn", EXACTLY, n_threads)


def peak_memory(n_query_words: int, n_threads: int, seed: int) -> dict[str, float]:
    """MB more than before the call, for 1,000 candidates of 300 words, measured in a separate process."""
    command = [sys.executable, "-m", "benchmarks.growth", str(n_query_words), str(n_threads), str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _resident_mb(field: str) -> float:
    """VmRSS or VmHWM (the peak) of this process."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return float(line.split()[1]) / 1024
    raise OSError(f"no {field} in /proc/self/status")


def _measure(n_query_words: int, n_threads: int, seed: int) -> dict[str, float]:
    embeddings = clustered_embeddings(20_000, np.random.default_rng(seed))
    work = synthetic(n_query_words, embeddings, seed, 1000, 300)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
    before = _resident_mb("VmRSS")
    distances(work.query, work.candidates, work.embeddings, "sinkhorn", EXACTLY, n_threads)
    return {"before_mb": round(before, 1), "above_mb": round(_resident_mb("VmHWM") - before, 1)}


if __name__ == "__main__":
    print(json.dumps(_measure(*map(int, sys.argv[1:]))))
