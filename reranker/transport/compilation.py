"""Says whether the compiled loops are ready to use; small problems are solved without them until they are.

Loading the loops takes a second, and compiling them on a new machine half a minute. By default a process loads each
loop when it first needs it. Whoever must answer sooner puts that off: a command that searches once (`deferred`), or a
service that has just started (`defer`, then `finish`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Pairs of a query word and a document word, above which loading the loops takes less time than doing without them.
SMALL_PAIRS = 2_000_000

_ready = threading.Event()
_ready.set()


def defer() -> None:
    """From now on small problems are solved without the compiled loops."""
    _ready.clear()


def finish() -> None:
    """The compiled loops are loaded: from now on they solve everything."""
    _ready.set()


@contextmanager
def deferred() -> Iterator[None]:
    """Small problems inside are solved without the compiled loops, unless these were put off before."""
    was_ready = _ready.is_set()
    defer()
    try:
        yield
    finally:
        if was_ready:
            finish()


def is_ready() -> bool:
    """Whether the compiled loops solve everything."""
    return _ready.is_set()


def takes_plain(n_pairs: int) -> bool:
    """Whether a problem of so many pairs of words is to be solved without the compiled loops."""
    return not _ready.is_set() and n_pairs <= SMALL_PAIRS
