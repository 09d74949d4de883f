"""A node that tests started leaves nothing behind, however its tests ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import urllib3

from tests.support.engines.sources import Engine, chosen_engines, is_assembled
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent


def test_the_engine_is_of_the_version_it_is_named_for(engine: Engine) -> None:
    nodes = urllib3.request("GET", f"{engine.url}/_nodes/_local?filter_path=nodes.*.version", timeout=60).json()
    assert [node["version"] for node in nodes["nodes"].values()] == [engine.version]
    assert engine.name == f"{engine.distribution}-{engine.version}"


@pytest.mark.conformance  # it starts a node of its own
@pytest.mark.engine
def test_a_node_is_gone_after_its_parent_was_killed(tmp_path: Path) -> None:
    name = chosen_engines()[0]
    if not is_assembled(name):
        pytest.skip(f"{name} comes from a URL or from Docker here, so no node of ours is used")
    script = (
        "import time\nfrom tests.support.engines.nodes import start_node\n"
        f"with start_node({name!r}) as node:\n    print(node.pid, flush=True)\n    time.sleep(600)\n"
    )
    # What the killed process leaves in its temporary folder goes with the test's.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid)
        parent.send_signal(signal.SIGKILL)

    wait_until(lambda: is_gone(pid), "the node is gone")


def is_gone(pid: int) -> bool:
    """Whether no such process runs; one that is dead and only not yet waited for counts as gone."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() == "" or state.strip().startswith("Z")
