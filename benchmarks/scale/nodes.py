"""Runs one node until it is stopped. More nodes join when a larger number is written to a file.

`nodes.json` has the addresses and processes. The nodes and their data are deleted at the end of the process. TMPDIR is
the folder of the data.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.support.engines.nodes import Node, Setting, start_node

_POLL_S = 1.0
_START_S = 600.0
# The engines' defaults: full compilation, and the G1 collector.
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=4", "-XX:-UseSerialGC", "-XX:+UseG1GC")


def run_nodes(state: Path, engine: str, heap: str) -> None:
    """Starts the first node, then as many as `state` wants, and waits until `state` is deleted."""
    manager = "cluster_manager" if engine.startswith("opensearch") else "master"
    discovery = "zen" if engine.startswith("opensearch") else "multi-node"
    common: dict[str, Setting] = {"cluster.name": f"scale-{time.time_ns()}", "discovery.type": discovery}
    # Recoveries may use only a part of the disk, since others share the machine.
    common["cluster.routing.allocation.node_concurrent_recoveries"] = 2
    common["indices.recovery.max_bytes_per_sec"] = "500mb"
    nodes: list[Node] = []
    state.write_text(json.dumps({"wanted": 1}), encoding="utf-8")
    with ExitStack() as stack:
        while state.exists():
            wanted = int(json.loads(state.read_text(encoding="utf-8"))["wanted"])
            while len(nodes) < wanted:
                own: dict[str, Setting] = {"node.name": f"node-{len(nodes)}"}
                if nodes:
                    own["discovery.seed_hosts"] = [f"127.0.0.1:{node.transport_port}" for node in nodes]
                else:
                    own |= {f"cluster.initial_{manager}_nodes": ["node-0"], "discovery.seed_hosts": []}
                settings = {**common, **own}
                nodes.append(
                    stack.enter_context(start_node(engine, settings=settings, heap=heap, java_options=JAVA_OPTIONS))
                )
                running = [{"url": node.url, "pid": node.pid, "folder": str(node.folder)} for node in nodes]
                state.write_text(
                    json.dumps({"wanted": wanted, "engine": engine, "heap": heap, "nodes": running}), encoding="utf-8"
                )
            time.sleep(_POLL_S)


def join(state: Path, wanted: int) -> None:
    """Asks for this many nodes, and waits until they run.

    Raises:
        SystemExit: they do not run in time.
    """
    found = read_nodes(state)
    state.write_text(json.dumps(found | {"wanted": wanted}), encoding="utf-8")
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if len(read_nodes(state)["nodes"]) >= wanted:
            return
        time.sleep(_POLL_S)
    raise SystemExit(f"{wanted} nodes do not run after {_START_S:g} s; read the log of `nodes`")


def read_nodes(state: Path) -> dict[str, Any]:
    """The running nodes: `nodes` (each with `url`, `pid` and `folder`), `engine`, `heap`."""
    found: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
    if "nodes" not in found:
        raise SystemExit(f"the first node of {state} does not run yet")
    return found
