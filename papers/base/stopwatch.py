"""Adds up the CPU time of parts of the work, and formats times."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time


def cpu_seconds() -> float:
    """CPU time (s) of all threads of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


class Stopwatch:
    """Adds up the CPU time (s) of all threads of this process; a busy machine changes it less than the elapsed time.

    Use it as `with watch.running(): …`, once for each part.
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


def three_digits(time: float) -> str:
    """Formats a time; more digits would not be reliable.

    >>> three_digits(0.0421), three_digits(3.14159), three_digits(415.4)
    ('0.042', '3.14', '415')
    """
    return f"{time:.3f}" if time < 1 else f"{time:.2f}" if time < 10 else f"{time:.0f}"
