"""Times the recommended deployment: a front that sends searches to Sinkrank and all other requests to the engine.

Run it with `python -m benchmarks.deployment`. It uses only this machine. The engine, each front and Sinkrank alone get
the same requests in turn. Sinkrank has one process for each core, as by default. The index contains the beginnings of
real pages, and is removed at the end.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import urllib3

from benchmarks.proxy import (
    INDEX,
    Request,
    load,
    make_index,
    node,
    parser_of,
    pool,
    read_documents,
    requests_by_kind,
    serving,
)
from benchmarks.report import machine
from benchmarks.scale import resources
from benchmarks.timing import in_turn
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from tests.deploy import fronts
from tests.support.processes import process_tree

N_CLIENTS = 8
# As docs/operations.md recommends it; the tests' own is shorter.
CHECK_INTERVAL = "2s"
ENGINE, SINKRANK = "engine", "sinkrank"
KINDS = ("document passed on", "search, title and url")


def under_load(
    requests: Sequence[Request],
    sides: Mapping[str, urllib3.HTTPConnectionPool],
    pids: Mapping[str, int],
    turns: int,
    seconds: float,
) -> list[dict[str, Any]]:
    """Requests per second of 8 clients, with each side once per turn: the median of each side, and the median of its
    ratios to the engine in the same turn. `front_cpu_ms` is the front's own CPU time per request, which depends less on
    other load."""
    per_second: dict[str, list[float]] = {side: [] for side in sides}
    cpu = dict.fromkeys(pids, 0.0)
    for _ in range(turns):
        for side, http in sides.items():
            before = cpu_ms(pids[side]) if side in pids else 0.0
            per_second[side].append(load(requests, http, side != ENGINE, N_CLIENTS, seconds)["per_second"])
            if side in pids:
                cpu[side] += cpu_ms(pids[side]) - before
    used = {side: round(ms / (sum(per_second[side]) * seconds), 3) for side, ms in cpu.items()}
    return [
        {
            "side": side,
            "clients": N_CLIENTS,
            "per_second": round(median(rates), 1),
            "least": min(rates),
            "most": max(rates),
            "front_cpu_ms": used.get(side),
            "of_the_engine": round(median(a / b for a, b in zip(rates, per_second[ENGINE], strict=True)), 3),
        }
        for side, rates in per_second.items()
    ]


def cpu_ms(pid: int) -> float:
    """CPU time (ms) of a process and those that it started so far; 0 without a process."""
    return 1000 * resources.processes(process_tree(pid))["cpu_s"]


def one_at_a_time(
    requests: Sequence[Request], sides: Mapping[str, urllib3.HTTPConnectionPool], rounds: int
) -> list[dict[str, Any]]:
    """Median ms of each side."""
    position = dict.fromkeys(sides, 0)

    def send(side: str) -> None:
        requests[position[side] % len(requests)].send(sides[side], side != ENGINE)
        position[side] += 1

    runs = {side: (lambda side=side: send(side)) for side in sides}
    in_turn(runs, min(30, rounds))  # connections, caches and the engine's own compiler
    return [
        {"side": side, "median_ms": round(median(times.wall_ms), 2), "rounds": rounds}
        for side, times in in_turn(runs, rounds).items()
    ]


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--fronts", nargs="+", default=["haproxy"], choices=[*fronts.CONFIGURATIONS])
    parser.add_argument("--turns", type=int, default=40, help="number of turns for each side (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of the load in each turn (%(default)s)")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    documents = read_documents(arguments.documents, arguments.n_documents)
    queries = [document.title for document in documents[:: max(1, len(documents) // 100)]]
    kinds = requests_by_kind(queries, [document.doc_id for document in documents[:100]])
    results: dict[str, Any] = {"machine": machine(), "documents": len(documents), "clients": N_CLIENTS}
    with ExitStack() as stack:
        address = stack.enter_context(node(arguments.store, arguments.engine))
        make_index(address, Embeddings.open(arguments.embeddings), documents)
        try:
            sinkrank = stack.enter_context(serving(address, arguments.embeddings, n_processes=0))
            certificate = fronts.make_certificates(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            pids = {}
            sides = {ENGINE: pool(address), SINKRANK: sinkrank.http}
            for name in arguments.fronts:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                behind = (_host_and_port(sinkrank.http), _host_and_port(sides[ENGINE]))
                running = fronts.running(name, folder, *behind, certificate, CHECK_INTERVAL=CHECK_INTERVAL)
                front = stack.enter_context(running)
                sides[name], pids[name] = pool(front.url), front.process.pid
            for kind in KINDS:
                rows = {
                    "one_at_a_time": one_at_a_time(kinds[kind], sides, arguments.rounds),
                    "under_load": under_load(kinds[kind], sides, pids, arguments.turns, arguments.seconds),
                }
                results[kind] = rows
                for way, measured in rows.items():
                    for row in measured:
                        print(json.dumps({"requests": kind, "way": way, **row}), flush=True)
        finally:
            with closing(open_store(address)) as store:
                store.drop(INDEX)
    print(json.dumps(results["machine"]))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _host_and_port(http: urllib3.HTTPConnectionPool) -> str:
    return f"{http.host}:{http.port}"


if __name__ == "__main__":
    main()
