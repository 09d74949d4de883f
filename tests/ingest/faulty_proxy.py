"""Stands in front of a real node and lets bulk requests, or others, fail as they are told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import urllib3

from tests.stores.fake_engine import serve

# What happens to a bulk request: an HTTP status instead of an answer; `cut` breaks the connection before the engine has
# it, `lost` after; `slow` takes its time; `items` answers 429 for every other document; `pass` changes nothing;
# `partial` is what a search gets if a shard fails: the hits of the others, or an error where it allows no partial
# results.
Fault = int | str


@dataclass
class FaultyProxy:
    """Faults of requests by their number, from 0."""

    fault: Callable[[int], Fault]
    address: str = ""
    faults: list[Fault] = field(default_factory=list)


def is_bulk(path: str) -> bool:
    return path.split("?")[0].endswith("/_bulk")


def is_read(path: str) -> bool:
    """Searches, counts, mappings, and points in time."""
    return any(part in path for part in ("_search", "_pit", "_count", "_mapping"))


def is_search(path: str) -> bool:
    return path.partition("?")[0].endswith("/_search")


@contextmanager
def faulty_proxy(
    node: str, fault: Callable[[int], Fault], is_meant: Callable[[str], bool] = is_bulk
) -> Iterator[FaultyProxy]:
    """A proxy at `address`; `faults` says what it has done.

    Args:
        is_meant: whether the requests of a path fail.
    """
    proxy, lock = FaultyProxy(fault), threading.Lock()

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        chosen: Fault = "pass"
        if is_meant(path):
            with lock:
                chosen = proxy.fault(len(proxy.faults))
                proxy.faults.append(chosen)
        if chosen == "cut":
            return 0, None
        if chosen == "partial" and "allow_partial_search_results=false" in path:
            chosen = 503
        if isinstance(chosen, int):
            return chosen, {"error": {"type": "told", "reason": "told to fail"}}
        if chosen == "slow":
            time.sleep(0.3)
        lines = body.encode().splitlines(keepends=True)
        if chosen == "items":
            passed_on = [line for place in range(0, len(lines), 4) for line in lines[place : place + 2]]
        else:
            passed_on = lines
        kind = "application/x-ndjson" if path.partition("?")[0].endswith("/_bulk") else "application/json"
        given = pool.request(method, node + path, body=b"".join(passed_on), headers={"content-type": kind})
        content: Any = json.loads(given.data) if given.data else b""
        if chosen == "items":
            content = _with_every_other_refused(content, len(lines) // 2)
        if chosen == "partial":
            hits = content["hits"]["hits"]
            content["hits"]["hits"] = hits[len(hits) // 2 :]
            content["_shards"] |= {"failed": 1, "successful": content["_shards"]["total"] - 1}
        return (0, None) if chosen == "lost" else (given.status, content)

    with urllib3.PoolManager(retries=False, timeout=60) as pool, serve(answer) as fake:
        proxy.address = fake.address
        yield proxy


def _with_every_other_refused(answer: dict[str, Any], n_actions: int) -> dict[str, Any]:
    refused = {"index": {"status": 429, "error": {"type": "rejected", "reason": "queue is full"}}}
    done = iter(answer["items"])
    items = [refused if place % 2 else next(done) for place in range(n_actions)]
    return {"errors": True, "items": items}
