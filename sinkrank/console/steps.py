"""Shows the steps of a long run: as bars on a terminal, as one line per step in a pipe."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from ingest.progress import Progress
from sinkrank.console import output


class Steps:
    """Shows the name of each step and its time.

    with steps("training") as progress:
        train(..., progress=progress)
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def __call__(self, name: str) -> Iterator[Progress]:
        started = time.monotonic()
        if not self._console.is_terminal:
            # The name comes first, so that a log shows what a long step is waiting for.
            self._console.print(f"{name} …", end=" ")
        try:
            with output.progress_bars(self._console) as progress:
                progress(0, None, name)
                yield progress
        except BaseException:
            self._say(name, "stopped")
            raise
        self._say(name, f"done in {time.monotonic() - started:.0f} s")

    def _say(self, name: str, what: str) -> None:
        self._console.print(f"{name} … {what}" if self._console.is_terminal else what)
