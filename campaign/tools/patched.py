"""Runs `sinkrank` with host names and a wall clock that two files control while it runs.

    python -m campaign.tools.patched serve …

`CAMPAIGN_HOSTS` is a file with a line `NAME ADDRESS` for each host; other names are resolved as usual.
`CAMPAIGN_CLOCK` is a file with the seconds to add to the wall clock. Monotonic clocks do not change, as with a step of
the system's clock.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

HOSTS, CLOCK = "CAMPAIGN_HOSTS", "CAMPAIGN_CLOCK"


def patch_names(path: Path) -> None:
    """`socket.getaddrinfo` reads the file at each call."""
    original = socket.getaddrinfo

    def look_up(host: Any, *arguments: Any, **named: Any) -> Any:
        known = dict(line.split() for line in path.read_text().splitlines() if line.strip())
        return original(known.get(host, host), *arguments, **named)

    socket.getaddrinfo = look_up


def patch_clock(path: Path) -> None:
    """`time.time` and `time.time_ns` read the file at each call."""
    now, now_ns = time.time, time.time_ns

    def shift() -> float:
        try:
            return float(path.read_text())
        except (OSError, ValueError):  # it is being replaced
            return 0.0

    time.time = lambda: now() + shift()
    time.time_ns = lambda: now_ns() + int(shift() * 10**9)


def main() -> None:
    if HOSTS in os.environ:
        patch_names(Path(os.environ[HOSTS]))
    if CLOCK in os.environ:
        patch_clock(Path(os.environ[CLOCK]))
    from sinkrank.__main__ import main as run_sinkrank

    sys.argv[0] = "sinkrank"
    run_sinkrank()


if __name__ == "__main__":
    main()
