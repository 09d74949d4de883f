"""Times many queries at once on devices beside one after the other by the compiled code, in one process, in turn.

python -m benchmarks.device [--devices cpu torch:cpu cuda] [--queries 64] [--candidates 100]
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks import report
from benchmarks.timing import Run, in_turn
from benchmarks.workload import Workload, clustered_embeddings, synthetic
from reranker.transport import Parameters, distances, warm_up
from reranker.transport.device import DeviceEmbeddings, distances_many, open_device

ONE_BY_ONE = "compiled, query by query"


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    results: dict[str, Any] = {"machine": report.machine(), "options": {**vars(options), "out": str(options.out)}}
    print(f"{results['machine']}\nseed {options.seed}, rounds {options.rounds}, threads {options.threads}")
    warm_up()
    embeddings = clustered_embeddings(options.vocabulary, np.random.default_rng(options.seed))
    held = {name: _held(embeddings, name, options.threads) for name in options.devices}
    with threadpool_limits(options.threads):
        results["workloads"] = [_measured(n, embeddings, held, options) for n in options.query_words]
    for path in report.write(results, options.out):
        print("written:", path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", nargs="+", default=["cpu"], help="cpu (NumPy), torch:cpu, cuda, cupy")
    parser.add_argument("--queries", type=int, default=64, help="queries at once")
    parser.add_argument("--query-words", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--candidates", type=int, default=100, help="of each query, of 30 to 300 words")
    parser.add_argument("--vocabulary", type=int, default=20_000)
    parser.add_argument("--method", default="sinkhorn")
    parser.add_argument("--rounds", type=int, default=7, help="times each side runs (default 7)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of each side on the CPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/device"), help="folder of the results")
    return parser


def _held(embeddings: NDArray[np.float32], name: str, n_threads: int) -> DeviceEmbeddings:
    """Uploaded once, before anything is timed, as in use."""
    device = open_device(name)
    if device.xp.__name__.endswith("torch"):
        device.xp.set_num_threads(n_threads)
    return DeviceEmbeddings.upload(embeddings, device)


def _measured(
    n_words: int, embeddings: NDArray[np.float32], held: dict[str, DeviceEmbeddings], options: argparse.Namespace
) -> dict[str, Any]:
    work = [
        synthetic(n_words, embeddings, options.seed + k, options.candidates) for k in range(max(options.queries, 1))
    ]
    parameters = Parameters(stop_at=0.0)  # 50 iterations on each side
    compiled = partial(_compiled, work, options.method, parameters, options.threads)
    on_device = {name: partial(_on_device, work, one, options.method, parameters) for name, one in held.items()}
    right = compiled()
    off = {name: float(np.abs(run() - right).max()) for name, run in on_device.items()}
    runs: dict[str, Run] = {ONE_BY_ONE: compiled, **on_device}
    sides = {
        name: {**times.summary, "threads": options.threads, "largest_difference": off.get(name)}
        for name, times in in_turn(runs, max(options.rounds, 1)).items()
    }
    title = f"{options.queries} queries with {options.candidates} candidates each, {options.method}"
    result = {"name": title, "spread": work[0].spread(), "sides": sides}
    print(f"\n{title}, {n_words} query words")
    print(report.table(result, ONE_BY_ONE))
    return result


def _compiled(work: list[Workload], method: str, parameters: Parameters, n_threads: int) -> NDArray[np.float64]:
    return np.concatenate(
        [distances(one.query, one.candidates, one.embeddings, method, parameters, n_threads).values for one in work]
    )


def _on_device(
    work: list[Workload], held: DeviceEmbeddings, method: str, parameters: Parameters
) -> NDArray[np.float64]:
    queries, lists = [one.query for one in work], [one.candidates for one in work]
    return np.concatenate([found.values for found in distances_many(queries, lists, held, method, parameters)])


if __name__ == "__main__":
    main()
