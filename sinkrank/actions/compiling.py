"""Compiles the transport's loops in another process, while a command does other work."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reranker.transport import warm_up
from reranker.transport.warming import loads_quickly


@contextmanager
def compiled_beside() -> Iterator[Callable[[], None]]:
    """Starts to compile if the machine has no compiled loops yet. Returns a function that waits for the loops and loads
    them.

    The other process ends with the block.
    """
    if loads_quickly():
        yield warm_up
        return
    process = multiprocessing.get_context("spawn").Process(target=_compile, daemon=True)
    process.start()

    def finish() -> None:
        process.join()
        warm_up()  # from disk; if the process has failed, this compiles and says why

    try:
        yield finish
    finally:
        process.kill()
        process.join()


def _compile() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the group; the command ends this process
    warm_up()
