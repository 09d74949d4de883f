"""A system that gives this process no more threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Of a stack: more than any address space has.
_TOO_MANY_BYTES = 1 << 60


@contextmanager
def no_more_threads() -> Iterator[None]:
    before = threading.stack_size(_TOO_MANY_BYTES)
    try:
        yield
    finally:
        threading.stack_size(before)
