"""Runs `sinkrank` in separate processes: commands, and the service, whose log is read at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from campaign.tools.context import Context
from campaign.tools.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
START_S = 300.0
STOP_S = 60.0


@dataclass
class Service:
    """A running `sinkrank serve`."""

    process: subprocess.Popen[bytes]
    url: str
    log_path: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].strip("/"))

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def is_live(self, timeout_s: float = 30.0) -> bool:
        return self._status("/-/live", timeout_s) == 200

    def is_ready(self) -> bool:
        return self._status("/-/ready", 30.0) == 200

    def readiness(self, timeout_s: float = 30.0) -> dict[str, Any]:
        """The checks of `/-/ready`, by name."""
        answer = urllib3.request("GET", self.url + "/-/ready", timeout=timeout_s, retries=False)
        checks: dict[str, Any] = answer.json()["checks"]
        return checks

    def _status(self, path: str, timeout_s: float) -> int:
        try:
            return urllib3.request("GET", self.url + path, timeout=timeout_s, retries=False).status
        except urllib3.exceptions.HTTPError:
            return 0


def environment(more: Mapping[str, str] | None = None, root: Path = ROOT) -> dict[str, str]:
    """The environment of a `sinkrank` process: this process's variables without settings, the code of `root`, one
    server process, and `more`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SINKRANK_")}
    own = {"PYTHONPATH": str(root), "COLUMNS": "300", "PYTHONUNBUFFERED": "1", "SINKRANK_PROCESSES": "1"}
    return {**inherited, **own, **(more or {})}


def python_of(root: Path) -> str:
    """The Python that runs the code of a checkout: this one, or that of its own environment."""
    return sys.executable if root == ROOT else str(root / ".venv" / "bin" / "python")


@contextmanager
def serving(
    context: Context,
    store: str,
    embeddings: Path,
    *,
    name: str = "serve",
    settings: Mapping[str, str] | None = None,
    root: Path = ROOT,
    module: Sequence[str] = ("sinkrank",),
) -> Iterator[Service]:
    """Runs the service on a free port. At the end it must stop within a minute, without a traceback in its log.

    Args:
        settings: environment variables.
        root: checkout whose code runs.
        module: module to run instead of `sinkrank`, with its arguments.

    Raises:
        RuntimeError: the service does not start.
    """
    log_path = context.folder / f"{name}.log"
    command = [python_of(root), "-m", *module, "serve", "--port", "0", "--store", store]
    command += ["--embeddings", str(embeddings), "--home", str(context.folder / f"{name}-home")]
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, env=environment(settings, root), cwd=context.folder, stdout=log, stderr=log)
    address = None
    try:
        address = _address(process, log_path)
        yield Service(process, address, log_path)
    finally:
        _stop(context, process, log_path, has_started=address is not None)


def _address(process: subprocess.Popen[bytes], log_path: Path) -> str:
    found: list[str] = []

    def is_there() -> bool:
        found[:] = re.findall(r'serves (http://[^\s"]+)', log_path.read_text(errors="replace"))
        return bool(found) or process.poll() is not None

    wait_until(is_there, START_S)
    if not found:
        raise RuntimeError(f"the service did not start: {log_path.read_text(errors='replace')[-2000:]}")
    return found[0].rstrip("/.")


def _stop(context: Context, process: subprocess.Popen[bytes], log_path: Path, has_started: bool) -> None:
    was_running = process.poll() is None
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        context.check(False, f"the service did not stop within {STOP_S:g} s of SIGTERM")
        process.kill()
        process.wait()
    log = log_path.read_text(errors="replace")
    context.check(
        was_running or not has_started, f"the service ended by itself with code {process.returncode}: {log[-400:]}"
    )
    context.check("Traceback" not in log, f"the service logged a traceback: {log[log.find('Traceback') :][:1500]}")


def command(
    *arguments: str, root: Path = ROOT, cwd: Path, timeout_s: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Runs `sinkrank` with these arguments."""
    return subprocess.run(
        [python_of(root), "-m", "sinkrank", *arguments],
        env=environment(root=root),
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
