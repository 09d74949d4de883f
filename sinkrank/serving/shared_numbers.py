"""Lets several processes add up their metrics in one folder. Import nothing here that imports prometheus_client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# The folder in which prometheus_client adds up the metrics of all processes; read when it is imported.
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared_numbers() -> Iterator[None]:
    """A folder in which the processes keep their metrics, removed at the end; or the folder that the environment names.

    Enter it before the metrics are imported.
    """
    if os.environ.get(MULTIPROCESS_VARIABLE):
        yield
        return
    from reranker.base.temporary import temporary_folder  # not for Windows, where there is one process

    owner = os.getpid()
    with temporary_folder("sinkrank-metrics-") as folder:
        os.environ[MULTIPROCESS_VARIABLE] = str(folder)
        try:
            yield
        finally:
            if os.getpid() == owner:  # forked processes run this too
                del os.environ[MULTIPROCESS_VARIABLE]


def forget_numbers(pid: int) -> None:
    """Removes the metrics of a process that has ended from those about running processes."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid)  # type: ignore[no-untyped-call]
