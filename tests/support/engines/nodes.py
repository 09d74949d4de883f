"""Starts and stops engine nodes from an assembled home, each with its own ports, data, log and configuration.

    with start_node("opensearch-2.19.1") as node:
        urllib3.request("GET", f"{node.url}/_cluster/health")

A node dies with the process that started it: it has a process group of its own that is ended by the context
manager and at exit, and its launcher watches its stdin and that process, so that even SIGKILL leaves
nothing running.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3

from tests.support.engines.assemble import assembled_home, find_recipe
from tests.support.engines.errors import EngineUnavailable
from tests.support.engines.recipes import Recipe
from tests.support.engines.toolchain import find_jdk
from tests.support.listening import server_ports

# A machine that does much else takes long: these end a hang, and nothing is measured by them.
START_LIMIT_S = 300.0
CLOSE_LIMIT_S = 60.0
POLL_S = 0.1
N_LOG_LINES = 40
# Free memory below which a node's data goes to the disk.
_DATA_BYTES = 2 * 2**30

Setting = str | int | float | bool | list[str]

# Pages that a test serves at another port of this machine may ask the node.
FOR_BROWSERS: dict[str, Setting] = {
    "http.cors.enabled": True,
    "http.cors.allow-origin": r"/https?:\/\/127\.0\.0\.1(:[0-9]+)?/",
}


@dataclass(frozen=True)
class Node:
    """A node's process; `folder` holds the run's `config/`, `data/`, `logs/`, `node.log` and goes with it."""

    name: str
    distribution: str
    version: str
    url: str
    http_port: int
    transport_port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def log(self) -> str:
        """All that the node has printed so far."""
        return (self.folder / "node.log").read_text(errors="replace")

    def stop(self) -> None:
        """End the process, by request and then by force, and remove the run's folder; twice is once."""
        atexit.unregister(self.stop)
        if self.process.stdin:
            self.process.stdin.close()  # the launcher closes the node at the end of its input
        try:
            self.process.wait(CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def start_node(
    engine: str,
    *,
    settings: Mapping[str, Setting] | None = None,
    config_files: Mapping[str, bytes] | None = None,
    heap: str = "512m",
    java_options: Sequence[str] = (),
    scheme: str = "http",
    ready: Callable[[str], bool] | None = None,
    timeout_s: float = START_LIMIT_S,
) -> Iterator[Node]:
    """A running node of `engine` (a recipe's name), stopped at the end whatever happens.

    `settings` are added to the engine's own file; a dotted key may replace one of ours. `config_files` are
    written under `config/` by their relative name. `ready(url)` says whether the node answers (default:
    cluster health is 200). `heap` and `timeout_s`: as Java writes it ("1g"), and seconds.
    Raises EngineUnavailable, with the end of the node's log, when it dies or is not ready after `timeout_s`.
    """
    recipe = find_recipe(engine)
    options = [f"-Xms{heap}", f"-Xmx{heap}", *java_options]
    node = _launch(recipe, settings or {}, config_files or {}, options, scheme)
    try:
        _wait_until_ready(node, ready or cluster_answers, timeout_s)
        yield node
    finally:
        node.stop()


def folder_in_memory() -> Path | None:
    """A folder in memory with room for a node's data, or None for the usual temporary folder.

    A node waits for the disk at every index and document: in memory the tests take half the time.
    Where TMPDIR is set, that is used instead.
    """
    if "TMPDIR" in os.environ:
        return None
    memory = Path("/dev/shm")
    is_usable = memory.is_dir() and os.access(memory, os.W_OK)
    return memory if is_usable and shutil.disk_usage(memory).free > _DATA_BYTES else None


def cluster_answers(url: str, wait_for: str = "wait_for_status=yellow") -> bool:
    """Whether cluster health answers 200; a refused connection or another status is a no."""
    address = f"{url}/_cluster/health?{wait_for}&timeout=5s"
    try:
        return urllib3.request("GET", address, timeout=10, retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _launch(
    recipe: Recipe,
    settings: Mapping[str, Setting],
    config_files: Mapping[str, bytes],
    java_options: Sequence[str],
    scheme: str,
) -> Node:
    """Write the run's folder and start Java in it; the node need not answer yet."""
    home = assembled_home(recipe)
    jdk = find_jdk(recipe.min_java, recipe.name)
    folder = Path(tempfile.mkdtemp(prefix=f"sinkrank-{recipe.name}-", dir=folder_in_memory()))
    http_port, transport_port = server_ports(2)
    ours = _own_settings(folder, http_port, transport_port)
    _write_config(recipe, home, folder, {**ours, **settings}, config_files)
    command = [str(jdk.java), *_java_command(recipe, home, folder, java_options)]
    with (folder / "node.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C ends the tests, and those end the node
        )
    node = Node(
        name=recipe.name,
        distribution=recipe.distribution,
        version=recipe.version,
        url=f"{scheme}://127.0.0.1:{http_port}",
        http_port=http_port,
        transport_port=transport_port,
        folder=folder,
        process=process,
    )
    atexit.register(node.stop)
    return node


def _own_settings(folder: Path, http_port: int, transport_port: int) -> dict[str, Setting]:
    return {
        "cluster.name": folder.name,
        "discovery.type": "single-node",
        "network.host": "127.0.0.1",
        "http.port": http_port,
        "transport.port": transport_port,
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        # A nearly full disk is no reason for a test node to refuse an index.
        "cluster.routing.allocation.disk.threshold_enabled": False,
        **FOR_BROWSERS,
    }


def _write_config(
    recipe: Recipe,
    home: Path,
    folder: Path,
    settings: Mapping[str, Setting],
    config_files: Mapping[str, bytes],
) -> None:
    config = folder / "config"
    shutil.copytree(home / "config", config)
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir()
    # JSON scalars and lists are YAML too.
    lines = [f"{key}: {json.dumps(value)}\n" for key, value in settings.items()]
    (config / recipe.settings_file).write_text("".join(lines))
    for name, content in config_files.items():
        (config / name).parent.mkdir(parents=True, exist_ok=True)
        (config / name).write_bytes(content)


def _java_command(recipe: Recipe, home: Path, folder: Path, java_options: Sequence[str]) -> list[str]:
    """The arguments after `java`: the server on class path or module path, then the launcher's three."""
    config = folder / "config"
    prefix = "es" if recipe.distribution == "elasticsearch" else "opensearch"
    launcher = str(home / "launcher")
    classes = ["-cp", os.pathsep.join([launcher, str(home / "lib" / "*")])]
    if recipe.on_module_path:
        classes = ["-cp", launcher, "-p", str(home / "lib"), "--add-modules=ALL-MODULE-PATH"]
    return [
        # A test's node lives shortly and shares few cores: this halves the processor time until it answers.
        # `java_options` come later and win: -XX:TieredStopAtLevel=4 for a node whose speed is measured.
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        # So does not to verify the bytecode of released jars, by a fifth.
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:-BytecodeVerificationRemote",
        *java_options,
        *recipe.java_options,
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-D{prefix}.path.home={home}",
        f"-D{prefix}.path.conf={config}",
        *classes,
        recipe.launcher,
        str(home),
        str(config),
        str(os.getpid()),
    ]


def _wait_until_ready(node: Node, ready: Callable[[str], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if node.process.poll() is not None:
            code = node.process.returncode
            raise EngineUnavailable(f"{node.name} ended with code {code}; the end of its log:{_end(node)}")
        if ready(node.url):
            return
        time.sleep(POLL_S)
    raise EngineUnavailable(f"{node.name} was not ready after {timeout_s:g} s; the end of its log:{_end(node)}")


def _end(node: Node) -> str:
    return "\n" + "\n".join(node.log().splitlines()[-N_LOG_LINES:])
