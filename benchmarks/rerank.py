"""Compares Sinkrank with its peers: one query and 500 candidates, all sides in one process, in turn.

python -m benchmarks.rerank [--rounds 7] [--vocabulary 20000 500000]
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from benchmarks.peers import CONVERGED, FIFTY, OURS, SIDES, Side, oracle
from benchmarks.timing import in_turn, once
from benchmarks.workload import Workload, clustered_embeddings, synthetic

QUERY_WORDS = (30, 100, 300)
# The number of words that people type.
SHORT_QUERY_WORDS = (3, 5, 10)
# Iterations and marginal error of the limit that all sides approach: 0.1 % of the candidates need over 5,000.
LIMIT = (20_000, 1e-9)
# A faster side is tried more often, since other work of the machine affects short runs more.
QUICK_MS = 200


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    options.rounds = max(options.rounds, 1)
    if options.short:
        options.query_words, options.vocabulary = SHORT_QUERY_WORDS, [60_000, 500_000]
    results: dict[str, Any] = {"machine": report.machine(), "options": _plain(options)}
    print(f"{results['machine']}\nseed {options.seed}, rounds {options.rounds}, threads up to {options.threads}")
    sides = [side for side in SIDES if _requested(side, options.sides)]
    results["workloads"] = [_measured(work, sides, options) for work in _workloads(options)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("written:", options.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rerank", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="times each side runs (default 7)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="maximum number of threads of a side")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--query-words", type=int, nargs="+", default=QUERY_WORDS)
    parser.add_argument("--short", action="store_true", help="3, 5 and 10 query words, vocabularies 60,000 and 500,000")
    parser.add_argument(
        "--vocabulary",
        type=int,
        nargs="+",
        default=[20_000],
        help="sizes of the vocabulary; 20000 500000 for the full benchmark",
    )
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--sides", nargs="+", help="only sides with one of these words in their name (ours always)")
    parser.add_argument("--longest-s", type=float, default=15, help="a side that takes longer is left out (default 15)")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/results.json"), help="file of the results")
    return parser


def _plain(options: argparse.Namespace) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in vars(options).items()}


def _requested(side: Side, names: list[str] | None) -> bool:
    return not names or side.name == OURS or any(name.lower() in side.name.lower() for name in names)


def _workloads(options: argparse.Namespace) -> Iterator[Workload]:
    for vocabulary in options.vocabulary:
        embeddings = clustered_embeddings(vocabulary, np.random.default_rng(options.seed))
        for n in options.query_words:
            yield synthetic(n, embeddings, options.seed, options.candidates)


def _measured(work: Workload, sides: list[Side], options: argparse.Namespace) -> dict[str, Any]:
    """Times all sides on one workload, each with the number of threads that was best in a trial."""
    spread = work.spread()
    print(f"\n{work.name}: {spread}")
    threads, differences, runs = {}, {}, {}
    of_fifty, of_limit = oracle(work), oracle(work, *LIMIT)
    for side in sides:
        if once(partial(side.solve, work, 1)) > 1e3 * options.longest_s:
            print(f"left out: {side.name} (takes over {options.longest_s:g} s)")
            continue
        trials = {n: _trial(side, work, n) for n in sorted({1, options.threads})}
        threads[side.name] = min(trials, key=lambda n: trials[n])
        if side.work in (FIFTY, CONVERGED):
            distances = side.solve(work, 1)
            differences[side.name] = {
                "from_50": _largest_and_mean(distances, of_fifty),
                "from_limit": _largest_and_mean(distances, of_limit),
            }
        runs[side.name] = partial(side.solve, work, threads[side.name])
    times = in_turn(runs, options.rounds)
    found = {
        name: {**taken.summary, "threads": threads[name], "differences": differences.get(name)}
        for name, taken in times.items()
    }
    result = {"name": work.name, "spread": spread, "sides": found}
    print(report.table(result, OURS))
    return result


def _largest_and_mean(found: NDArray[np.float64], right: NDArray[np.float64]) -> tuple[float, float]:
    differences = np.abs(found - right)
    return float(differences.max()), float(differences.mean())


def _trial(side: Side, work: Workload, n_threads: int) -> float:
    """The least ms of a few runs."""
    run = partial(side.solve, work, n_threads)
    first = once(run)
    return min([first] + [once(run) for _ in range(14 if first < QUICK_MS else 1)])


if __name__ == "__main__":
    main()
