"""Adds up the CPU time of parts of the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time


class Stopwatch:
    """CPU time (s) of this process, all threads, which a busy machine changes less than the time on the wall.

    Use it as `with watch.running(): …`, as often as there are parts.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        start = process_time()
        try:
            yield
        finally:
            self.seconds += process_time() - start
