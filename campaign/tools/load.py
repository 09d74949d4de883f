"""Mixed load on the service from several threads. Each answer is recorded with its time and its faults."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import urllib3

from campaign.tools.material import documents, query

CALL_LIMIT_S = 60.0
_BETWEEN_S = 0.05
_WITHOUT_ENGINE = ("/-/", "/v1/rerank")

WITHOUT_FAULT = ("calm", "two nodes", "recovery")
"""Phases to which a call counts only if it began and ended in them, since a fault may have affected it before."""

Call = tuple[str, str, Any]
"""Method, path and body."""


@dataclass
class Load:
    """The answers to a load. `phase` is the name of the present phase.

    Attributes:
        statuses: number of answers by phase and status; `error` for no answer.
        written: ids of documents whose write was confirmed.
        samples: the first bad answers of each phase.
    """

    phase: str = "start"
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    written: set[str] = field(default_factory=set)
    samples: dict[tuple[str, str], str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def n(self, phase: str, *statuses: str) -> int:
        return sum(n for (name, status), n in self.statuses.items() if name == phase and status in statuses)

    def bad(self, phase: str, allowed: Callable[[str], bool]) -> list[str]:
        """The answers of a phase with other statuses than the allowed ones: their numbers, and the first of each."""
        return [
            f"{n} × {status} ({self.samples.get((name, status), '')})"
            for (name, status), n in sorted(self.statuses.items())
            if name == phase and not allowed(status)
        ]

    def record(self, phase: str, status: str, what: str) -> None:
        with self.lock:
            self.statuses[phase, status] += 1
            self.samples.setdefault((phase, status), what[:300])


def mixed_calls(index: str, ours: str) -> Callable[[Random], Call]:
    """Draws random requests: searches of the proxy, multi-searches, our own routes, passed requests and writes."""

    def draw(random: Random) -> Call:
        text, kind = query(random), random.random()
        if kind < 0.35:
            return "POST", f"/{index}/_search", {"query": {"match": {"text": text}}, "size": random.choice((10, 50))}
        if kind < 0.45:
            line = json.dumps({"query": {"multi_match": {"query": text, "fields": ["title", "text"]}}})
            return "POST", f"/{index}/_msearch", f"{{}}\n{line}\n{{}}\n{line}\n"
        if kind < 0.6:
            return "POST", "/v1/search", {"query": text, "language": "en", "index": ours}
        if kind < 0.7:
            return "POST", "/v1/rerank", {"query": text, "documents": [query(random) for _ in range(20)]}
        if kind < 0.8:
            return "GET", f"/{index}/_doc/d{random.randrange(50)}", None
        if kind < 0.88:
            return "GET", "/-/metrics", None
        (row,) = documents(1, random, prefix=f"w{random.randrange(10**9)}-")
        return "PUT", f"/{index}/_doc/{row['id']}", {key: row[key] for key in ("lang", "title", "text", "year")}

    return draw


@contextmanager
def loading(
    url: Callable[[], str], draw: Callable[[Random], Call], randoms: list[Random], between_s: float = _BETWEEN_S
) -> Iterator[Load]:
    """Runs load from one thread for each generator until the context ends."""
    load, ended = Load(), threading.Event()

    def work(random: Random) -> None:
        with urllib3.PoolManager(retries=False) as http:
            while not ended.wait(between_s):
                _call(http, url(), draw(random), load)

    threads = [threading.Thread(target=work, args=[random], daemon=True) for random in randoms]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        ended.set()
        for thread in threads:
            thread.join(2 * CALL_LIMIT_S)


def _call(http: urllib3.PoolManager, url: str, call: Call, load: Load) -> None:
    method, path, body = call
    content = body if isinstance(body, str) or body is None else json.dumps(body)
    headers = {"Content-Type": "application/x-ndjson" if isinstance(body, str) else "application/json"}
    phase, started = load.phase, time.monotonic()
    try:
        answer = http.request(method, url + path, body=content, headers=headers, timeout=CALL_LIMIT_S)
        status, detail = str(answer.status), answer.data[:200].decode(errors="replace")
    except urllib3.exceptions.HTTPError as error:
        status, detail = "error", repr(error)
    took = time.monotonic() - started
    counted = "between" if phase in WITHOUT_FAULT and phase != load.phase else phase
    counted += ", no engine needed" if path.startswith(_WITHOUT_ENGINE) else ""
    load.record(counted, status, f"{method} {path} after {took:.1f} s: {detail}")
    if method == "PUT" and status in ("200", "201"):
        with load.lock:
            load.written.add(path.rpartition("/")[2])
