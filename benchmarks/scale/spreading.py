"""Spreads an index over more nodes: they join, shards move to them, replicas are made."""

from __future__ import annotations

import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

from benchmarks.scale import resources
from benchmarks.scale.nodes import join, read_nodes

_LIMIT_S = 3600.0


def spread_out(state: Path, index: str, n_nodes: int, replicas: int) -> dict[str, Any]:
    """The figures of each of these three steps.

    Raises:
        SystemExit: it takes longer than an hour.
    """
    first = read_nodes(state)["nodes"][0]
    before = resources.engine([first], index)
    started = time.monotonic()
    join(state, n_nodes)
    joined = time.monotonic()
    nodes = read_nodes(state)["nodes"]
    url = first["url"]
    _settle(url, index)
    moved = time.monotonic()
    resources.ask(url, f"/{index}/_settings", {"index": {"number_of_replicas": replicas}}, "PUT")
    _settle(url, index)
    copied = time.monotonic()
    return {
        "nodes": n_nodes,
        "replicas": replicas,
        "before": before,
        "joining_s": round(joined - started, 1),
        "moving_s": round(moved - joined, 1),
        "copying_s": round(copied - moved, 1),
        "shards": resources.ask(url, f"/_cat/shards/{index}?format=json&bytes=b"),
        "after": resources.engine(nodes, index),
        "machine": resources.machine_now(),
    }


def _settle(url: str, index: str) -> None:
    """Waits until every shard has its replicas and no shard moves."""
    deadline = time.monotonic() + _LIMIT_S
    waiting = f"/_cluster/health/{index}?wait_for_status=green&wait_for_no_relocating_shards=true&timeout=30s"
    while time.monotonic() < deadline:
        time.sleep(3)
        health = resources.ask(url, waiting, also=HTTPStatus.REQUEST_TIMEOUT)  # it is not green yet
        if health["status"] == "green" and not health["relocating_shards"] and not health["timed_out"]:
            return
    raise SystemExit(f"{index} did not settle within {_LIMIT_S:g} s")
