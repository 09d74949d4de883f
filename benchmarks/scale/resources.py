"""Reads the resources of processes and the engine: CPU time, memory, size of the index and merges."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

import urllib3

_TICK = os.sysconf("SC_CLK_TCK")
_LONGEST_S = 7200.0
_CALM_S = 10.0
# Documents in a request.
_BULK = 1_000
http = urllib3.PoolManager(timeout=600, retries=False)


def ask(url: str, path: str, body: object = None, method: str = "GET", also: int | None = None) -> Any:
    """The engine's answer to a request, as JSON.

    Args:
        also: another status that is accepted.

    Raises:
        SystemExit: the engine refuses the request.
    """
    content = None if body is None else json.dumps(body).encode()
    answer = http.request(method, f"{url}{path}", body=content, headers={"Content-Type": "application/json"})
    if answer.status >= 300 and answer.status != also:
        raise SystemExit(f"{method} {path} was answered {answer.status}: {answer.data[:500]!r}")
    return json.loads(answer.data) if answer.data else None


def write(url: str, index: str, documents: Iterable[tuple[str, object]]) -> None:
    """Writes documents with their ids, and makes them visible.

    Raises:
        SystemExit: the engine refuses one.
    """
    headers, documents = {"Content-Type": "application/x-ndjson"}, iter(documents)
    while some := list(islice(documents, _BULK)):
        lines = (f"{json.dumps({'index': {'_id': name}})}\n{json.dumps(source)}\n" for name, source in some)
        answer = http.request("POST", f"{url}/{index}/_bulk", body="".join(lines).encode(), headers=headers)
        if answer.status != HTTPStatus.OK or json.loads(answer.data)["errors"]:
            raise SystemExit(f"bulk: {answer.data[:300]!r}")
    ask(url, f"/{index}/_refresh", method="POST")


def cpu_ms(pids: Iterable[int]) -> float:
    """CPU time (ms) of all threads so far, to the nanosecond (Linux: the clock of a process by its id)."""
    return 1e3 * sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def processes(pids: Iterable[int]) -> dict[str, float]:
    """CPU seconds, and MB of memory: all (RSS, where shared pages count in each process), and anonymous memory, without
    mapped files."""
    cpu = rss = anonymous = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        cpu += (int(fields[11]) + int(fields[12])) / _TICK
        sizes = {line.split(":")[0]: float(line.split()[1]) / 1e3 for line in lines if line.startswith("Rss")}
        rss += sum(sizes.values())
        anonymous += sizes.get("RssAnon", 0.0)
    return {"cpu_s": round(cpu, 2), "rss_mb": round(rss), "anonymous_mb": round(anonymous)}


def engine(nodes: Iterable[Mapping[str, Any]], index: str | None = None) -> dict[str, Any]:
    """CPU, memory and heap of all nodes together; documents, bytes, segments and merges of the index."""
    nodes = list(nodes)
    stats = ask(nodes[0]["url"], "/_nodes/stats/jvm")["nodes"].values()
    found: dict[str, Any] = processes(node["pid"] for node in nodes)
    found["heap_mb"] = round(sum(one["jvm"]["mem"]["heap_used_in_bytes"] for one in stats) / 1e6)
    if index is not None:
        total = ask(nodes[0]["url"], f"/{index}/_stats/store,docs,merge,segments,refresh,flush")["_all"]
        both = {"primaries": total["primaries"], "total": total["total"]}
        for name, one in both.items():
            found[name] = {
                "documents": one["docs"]["count"],
                "bytes": one["store"]["size_in_bytes"],
                "segments": one["segments"]["count"],
                "merging": one["merges"]["current"],
                "merged_documents": one["merges"]["total_docs"],
                "merge_s": one["merges"]["total_time_in_millis"] / 1e3,
                "refresh_s": one["refresh"]["total_time_in_millis"] / 1e3,
            }
    return found


def machine_now() -> dict[str, float]:
    """The load, and MB of memory that is free or caches files."""
    sizes = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return {
        "load": round(os.getloadavg()[0], 1),
        "available_mb": round(int(sizes["MemAvailable"].split()[0]) / 1e3),
        "page_cache_mb": round(int(sizes["Cached"].split()[0]) / 1e3),
    }


def wait_for_merges(nodes: Iterable[Mapping[str, Any]], index: str) -> float:
    """Waits until nothing was merged for a while, and returns the seconds until then."""
    nodes, started = list(nodes), time.monotonic()
    calm_since = last = started
    while last - calm_since < _CALM_S and last - started < _LONGEST_S:
        time.sleep(1)
        last = time.monotonic()
        if engine(nodes, index)["total"]["merging"]:
            calm_since = last
    return calm_since - started
