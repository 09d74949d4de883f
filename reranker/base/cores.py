"""Counts the cores that this process may use."""

from __future__ import annotations

import os


def n_cores() -> int:
    """Those of the machine; fewer where a container's cpuset or `taskset` allows fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows
