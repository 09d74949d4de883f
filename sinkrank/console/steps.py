"""Shows the steps of a long run: as bars on a terminal, as one line per step in a pipe."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from ingest.progress import Progress
from sinkrank.console import output


@contextmanager
def step(console: Console, name: str) -> Iterator[Progress]:
    """Shows the name of a step, its progress and its time."""
    started = time.monotonic()
    if not console.is_terminal:
        # The name comes first, so that a log shows what a long step is waiting for.
        console.print(f"{name} …", end=" ")
    ended = "stopped"
    try:
        with output.progress_bars(console) as progress:
            progress(0, None, name)
            yield progress
        ended = f"done in {time.monotonic() - started:.0f} s"
    finally:
        console.print(f"{name} … {ended}" if console.is_terminal else ended)
