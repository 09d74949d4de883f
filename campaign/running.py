"""Runs a trial in a separate process, ends it at its time limit, and checks that it left nothing behind."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.report import Result
from campaign.tools.processes import TOKEN, end_all, wait_until, with_token
from campaign.tools.service import ROOT
from campaign.trials import find_trial
from tests.support.engines.nodes import folder_in_memory

# The start of a node and a service takes as long at any scale.
FIXED_S = 600.0
# The trials' time limits are for a quiet machine. They are for trials that hang, so a busy machine gets more time.
BUSY = 4.0
_GRACE_S = 120.0


@dataclass(frozen=True)
class Options:
    """The options of trials; see `campaign.tools.context.Context`."""

    seed: int
    scale: float
    engine: str
    older: str | None


def run_trial(name: str, options: Options) -> Result:
    """Runs one trial and returns its result. If it hangs or dies, this is a failure."""
    trial, token = find_trial(name), secrets.token_hex(8)
    folder = Path(tempfile.mkdtemp(prefix=f"campaign-{name}-", dir=folder_in_memory()))
    result_path = folder / "result.json"
    (folder / "work").mkdir()
    given = {**vars(options), "trial": name, "folder": str(folder / "work"), "result": str(result_path)}
    variables = {**os.environ, TOKEN: token, "TMPDIR": str(folder / "work"), "PYTHONPATH": str(ROOT)}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "campaign.child", json.dumps(given)], env=variables, cwd=ROOT, start_new_session=True
    )
    limit = BUSY * (trial.LIMIT_S * options.scale + FIXED_S)
    failures: list[str] = []
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        failures.append(f"the trial did not end within {limit:g} s")
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        took = time.monotonic() - started
        failures += _leftovers(token)
    told = _read(result_path)
    shutil.rmtree(folder, ignore_errors=True)
    all_failures = [*told.get("failures", []), *failures]
    return Result(
        name=name,
        asserts=trial.ASSERTS,
        seed=options.seed,
        scale=options.scale,
        took_s=took,
        n_checks=told.get("n_checks", 0),
        n_failures=told.get("n_failures", 0) + len(failures),
        failures=all_failures,
        figures=told.get("figures", {}),
    )


def _leftovers(token: str) -> list[str]:
    """Kills the processes that outlive the trial, and returns them."""
    wait_until(lambda: not with_token(token), _GRACE_S)
    return [f"a process was left behind: {line[:300]}" for line in end_all(token)]


def _read(path: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"n_failures": 1, "failures": ["the trial's process died without a result"]}
    return read
