"""Runs the programs that fetch packages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

# The largest package takes seconds on an ordinary line; half an hour is enough for a very slow one.
LIMIT_S = 1_800

RunCommand = Callable[[Sequence[str], Path], "subprocess.CompletedProcess[str]"]
"""Runs a command in a folder. Raises FileNotFoundError without the program, and TimeoutExpired after half an hour."""


def run_command(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder without standard input and with English messages; see `RunCommand`."""
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
