"""The engine of a trial: a node that can be stopped, continued and restarted, and a cluster of three."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import urllib3

from campaign.tools.processes import wait_until
from tests.support.engines.nodes import CLOSE_LIMIT_S, START_LIMIT_S, Node, cluster_answers, start_node
from tests.support.listening import server_ports

HEAP = "384m"


class Engine:
    """One node. `store` is its address for `--store`."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def url(self) -> str:
        return self.node.url

    @property
    def store(self) -> str:
        return store_address(self.node, self.node.http_port)

    def request(self, method: str, path: str, body: Any = None, timeout_s: float = 60.0) -> tuple[int, Any]:
        """Status and decoded answer; `body` is sent as JSON, a string as lines of JSON."""
        content = body if isinstance(body, str) or body is None else json.dumps(body)
        headers = {"Content-Type": "application/x-ndjson" if isinstance(body, str) else "application/json"}
        answer = urllib3.request(method, self.url + path, body=content, headers=headers, timeout=timeout_s)
        return answer.status, json.loads(answer.data or b"null")

    def freeze(self) -> None:
        """Stops the process, which keeps its connections and answers nothing."""
        os.killpg(self.node.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.node.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.killpg(self.node.pid, signal.SIGKILL)
        self.node.process.wait()

    def restart(self) -> None:
        """Ends the process and starts it again with the same data and ports."""
        process = self.node.process
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self.start()
        wait_until(lambda: cluster_answers(self.url), START_LIMIT_S)

    def start(self) -> None:
        """Starts the process again, and does not wait for its answer."""
        with (self.node.folder / "node.log").open("ab") as log:
            process = subprocess.Popen(
                self.node.process.args,
                cwd=self.node.folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.node = replace(self.node, process=process)

    def set_blocked(self, is_blocked: bool) -> None:
        """Blocks writes, as the engine does for all indices when its disk is full."""
        value = True if is_blocked else None
        self.request("PUT", "/_cluster/settings", {"persistent": {"cluster.blocks.read_only_allow_delete": value}})


def store_address(node: Node, port: int) -> str:
    """The value of `--store` for this port on this machine."""
    return f"{node.distribution}://127.0.0.1:{port}"


@contextmanager
def one_node(name: str) -> Iterator[Engine]:
    """Starts a node of this recipe."""
    with start_node(name, heap=HEAP) as node:
        engine = Engine(node)
        try:
            yield engine
        finally:
            _end(engine)


def _end(engine: Engine) -> None:
    """Ends also the process that `restart` has started, which `start_node` does not know."""
    if engine.node.process.poll() is None:
        engine.thaw()
        engine.node.stop()


@contextmanager
def three_nodes(name: str) -> Iterator[list[Engine]]:
    """A cluster of three nodes on this machine; each may be lost."""
    transport_ports = server_ports(3)
    names = [f"node-{number}" for number in range(3)]
    is_elasticsearch = "elasticsearch" in name
    managers = "cluster.initial_master_nodes" if is_elasticsearch else "cluster.initial_cluster_manager_nodes"
    with ExitStack() as stack:
        engines = []
        for node_name, port in zip(names, transport_ports, strict=True):
            settings = {
                "cluster.name": f"campaign-{transport_ports[0]}",
                "discovery.type": "multi-node" if is_elasticsearch else "zen",
                "discovery.seed_hosts": [f"127.0.0.1:{other}" for other in transport_ports],
                "node.name": node_name,
                "transport.port": port,
                managers: names,
            }
            node = stack.enter_context(start_node(name, settings=settings, heap="256m", ready=lambda url: True))
            engine = Engine(node)
            stack.callback(_end, engine)
            engines.append(engine)
        if not wait_until(lambda: n_nodes(engines[0]) == 3, START_LIMIT_S, step_s=0.5):
            raise RuntimeError(f"the cluster did not form: {engines[0].node.log()[-2000:]}")
        yield engines


def n_nodes(engine: Engine) -> int:
    """The number of nodes in the cluster; 0 while it does not answer."""
    try:
        status, health = engine.request("GET", "/_cluster/health", timeout_s=10)
    except (urllib3.exceptions.HTTPError, ValueError):
        return 0
    return int(health["number_of_nodes"]) if status == 200 else 0
