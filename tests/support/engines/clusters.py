"""Starts several nodes of one engine that form a cluster, and kills one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from uuid import uuid4

from tests.support.engines.assemble import find_recipe
from tests.support.engines.nodes import Node, Setting, cluster_answers, start_node

_HEAP = "256m"


@contextmanager
def start_cluster(engine: str, n_nodes: int, heap: str = _HEAP) -> Iterator[list[Node]]:
    """The running nodes of one cluster, the first of which was there first; all are stopped at the end.

    Raises EngineUnavailable as `start_node`.
    """
    is_opensearch = find_recipe(engine).distribution == "opensearch"
    manager, discovery = ("cluster_manager", "zen") if is_opensearch else ("master", "multi-node")
    common: dict[str, Setting] = {
        "cluster.name": f"sinkrank-{uuid4().hex[:12]}",
        "discovery.type": discovery,
        # A node that is killed is missed at once, not after minutes.
        "cluster.fault_detection.follower_check.interval": "200ms",
        "cluster.fault_detection.leader_check.interval": "200ms",
    }
    nodes: list[Node] = []
    with ExitStack() as stack:
        for number in range(n_nodes):
            own: dict[str, Setting] = {"node.name": f"node-{number}"}
            if nodes:
                own["discovery.seed_hosts"] = [f"127.0.0.1:{node.transport_port}" for node in nodes]
            else:
                own[f"cluster.initial_{manager}_nodes"] = ["node-0"]
                own["discovery.seed_hosts"] = []
            all_there = f"wait_for_nodes=>={number + 1}&wait_for_status=green"
            ready = partial(cluster_answers, wait_for=all_there)
            nodes.append(stack.enter_context(start_node(engine, settings={**common, **own}, heap=heap, ready=ready)))
        yield nodes


def store_address(nodes: list[Node]) -> str:
    """The address of a store that names the nodes."""
    hosts = ",".join(node.url.removeprefix("http://") for node in nodes)
    return f"{nodes[0].distribution}://{hosts}"


def kill(node: Node) -> None:
    """Ends a node with SIGKILL."""
    os.killpg(node.pid, signal.SIGKILL)
    node.process.wait()
