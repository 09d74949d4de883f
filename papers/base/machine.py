"""Describes the machine of a measurement: processor, system and versions of packages."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

_CPU_INFO = Path("/proc/cpuinfo")


def machine(packages: Iterable[str]) -> dict[str, Any]:
    """Returns processor, cores, system, Python, and the version of each package; None if it is not installed."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages},
    }


def cpu_name(info: Path = _CPU_INFO) -> str:
    """Returns Linux's name of the first processor in `info`; on other systems, Python's."""
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
