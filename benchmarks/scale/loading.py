"""Loads a service with its default settings by many clients, and counts what they get.

Each client sends its next search when the last one is answered, and no search is asked twice. Clients speak to this
machine alone, and stop by themselves.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from benchmarks.proxy import JSON, serving
from benchmarks.scale import resources
from benchmarks.scale.kinds import Asked, Kind, Request, kinds, plain_name
from benchmarks.scale.searching import outcome_of
from tests.support.processes import process_tree

# What the clients ask for, in turn.
KINDS = ("ordinary, proxy", "own, proxy", "own, /v1/search, hybrid")
_SAMPLE_S = 2.0
_N_NOT_TIMED = 100
# Above every time limit of the service for a search.
_CLIENT_TIMEOUT_S = 60.0


class Answer(NamedTuple):
    """What a client got: kind and time of the search, `applied`, or why it is not re-ranked, or the error."""

    kind: str
    at_s: float
    took_ms: float
    outcome: str


def load(
    nodes: Sequence[dict[str, Any]],
    index: str,
    embeddings: Path,
    queries: Iterable[Asked],
    clients: Sequence[int],
    seconds: float,
    kill: bool,
) -> list[dict[str, Any]]:
    """The figures of each number of clients, with a service of its own.

    Args:
        queries: enough for all clients; each is asked once.
        kill: whether a node with copies of the indices is killed after half the time, and so for one number of clients
            only. The service knows it as the first.
    """
    victim = _with_most_copies(nodes, index) if kill else nodes[0]
    known = sorted(nodes, key=lambda node: node != victim)
    store = "opensearch://" + ",".join(node["url"].removeprefix("http://") for node in known)
    requests = _requests(index, queries)
    rows = []
    for n_clients in clients:
        with serving(store, embeddings, n_processes=0, settings={}) as server:
            address = f"{server.http.host}:{server.http.port}"
            ask_all(address, islice(requests, _N_NOT_TIMED))  # connections and compilers warm up
            watched = _Watched(nodes, process_tree(server.pid))
            answers = _ask(address, requests, n_clients, seconds, watched, victim["pid"] if kill else None)
        rows.append({"clients": n_clients, "seconds": seconds, **_figures(answers, seconds, kill), **watched.figures()})
        print(json.dumps(rows[-1], indent=1), flush=True)
    return rows


def _with_most_copies(nodes: Sequence[dict[str, Any]], index: str) -> dict[str, Any]:
    """Of the nodes but the first, which tells the figures."""
    shards = resources.ask(nodes[0]["url"], f"/_cat/shards/{index},{plain_name(index)}?format=json")
    names = [shard["node"] for shard in shards]
    return nodes[max(range(1, len(nodes)), key=lambda number: names.count(f"node-{number}"))]


def _requests(index: str, queries: Iterable[Asked]) -> Iterator[tuple[str, Request]]:
    """Searches of the kinds in turn."""
    made: dict[str, Kind] = kinds(index, [])
    for name, one in zip(cycle(KINDS), queries, strict=False):
        yield name, made[name].ours(one)


def ask_all(address: str, requests: Iterable[tuple[str, Request]]) -> list[Answer]:
    """Sends these searches one after the other."""
    connection = http.client.HTTPConnection(address, timeout=_CLIENT_TIMEOUT_S)
    answers, started = [], time.perf_counter()
    for name, request in requests:
        sent = time.perf_counter()
        try:
            outcome = _answer(connection, request)
        except (OSError, http.client.HTTPException) as error:
            outcome = f"error, {type(error).__name__}"
            connection.close()
        answers.append(Answer(name, sent - started, 1e3 * (time.perf_counter() - sent), outcome))
    connection.close()
    return answers


def _ask(
    address: str,
    requests: Iterator[tuple[str, Request]],
    n_clients: int,
    seconds: float,
    watched: _Watched,
    victim: int | None,
) -> list[Answer]:
    answers: list[Answer] = []
    lock, started = threading.Lock(), time.perf_counter()

    def until_the_end() -> Iterator[tuple[str, Request]]:
        while True:
            with lock:
                drawn = next(requests, None)
            if drawn is None:
                return
            yield drawn
            if time.perf_counter() - started > seconds:
                return

    def client() -> None:
        answers.extend(ask_all(address, until_the_end()))

    threads = [threading.Thread(target=client, daemon=True) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        watched.sample(time.perf_counter() - started)
        if victim is not None and time.perf_counter() - started > seconds / 2:
            os.kill(victim, signal.SIGKILL)
            victim = None
        time.sleep(_SAMPLE_S)
    watched.sample(time.perf_counter() - started)
    return answers


def _answer(connection: http.client.HTTPConnection, request: Request) -> str:
    connection.request("POST", request.path, request.body, JSON)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status == HTTPStatus.OK:
        failed = json.loads(data).get("_shards", {}).get("failed", 0)
        outcome = outcome_of(dict(answer.headers))
        return f"{outcome}, shards failed" if failed else outcome
    return f"{answer.status}, {data[:120].decode(errors='replace')}"


class _Watched:
    """Memory of the service and the nodes, and CPU time from the first sample to the last."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], service: Sequence[int]) -> None:
        self._pids = {"engine": [node["pid"] for node in nodes], "service": list(service), "clients": [os.getpid()]}
        self._samples: list[dict[str, float]] = []

    def sample(self, at_s: float) -> None:
        now = {"at_s": round(at_s, 1)}
        for who, pids in self._pids.items():
            found = resources.processes(pids)
            now |= {f"{who}_cpu_s": found["cpu_s"], f"{who}_mb": found["anonymous_mb"]}
        self._samples.append(now)

    def figures(self) -> dict[str, Any]:
        first, last = self._samples[0], self._samples[-1]
        took = last["at_s"] - first["at_s"]
        return {
            "cores": {who: round((last[f"{who}_cpu_s"] - first[f"{who}_cpu_s"]) / took, 2) for who in self._pids},
            "mb": {who: self._over_time(f"{who}_mb") for who in ("service", "engine")},
            "machine": resources.machine_now(),
        }

    def _over_time(self, key: str) -> list[float]:
        """The value at the start, and at each quarter of the time."""
        last = len(self._samples) - 1
        return [self._samples[last * quarter // 4][key] for quarter in range(5)]


def _figures(answers: Sequence[Answer], seconds: float, kill: bool) -> dict[str, Any]:
    """Rates, times and outcomes of all answers, by kind, and, where a node is killed, before and after."""
    found = _summary(answers, seconds)
    by_kind: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_kind[answer.kind].append(answer)
    found["kinds"] = {kind: _summary(some, seconds) for kind, some in sorted(by_kind.items())}
    if kill:
        middle = seconds / 2
        found["before"] = _summary([one for one in answers if one.at_s < middle], middle)
        found["after"] = _summary([one for one in answers if one.at_s >= middle], middle)
    return found


def _summary(answers: Sequence[Answer], seconds: float) -> dict[str, Any]:
    times = [answer.took_ms for answer in answers]
    others: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if not answer.outcome.startswith("applied"):
            others[answer.outcome].append(answer.took_ms)
    cuts = quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    counts = Counter(answer.outcome for answer in answers)
    applied = sum(n for outcome, n in counts.items() if outcome.startswith("applied"))
    return {
        "searches": len(times),
        "per_second": round(len(times) / seconds, 1),
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
        "longest_ms": round(max(times, default=0.0)),
        "re_ranked": round(applied / len(times), 4) if times else 0.0,
        "not_re_ranked": {
            outcome: {"n": len(some), "median_ms": round(median(some)), "longest_ms": round(max(some))}
            for outcome, some in others.items()
        },
    }
