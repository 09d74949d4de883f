"""Describes the machine of a measurement, and prints its times beside ours."""

from __future__ import annotations

import os
from typing import Any

from papers.base.machine import machine as describe

PACKAGES = ("sinkrank", "numpy", "POT")


def machine() -> dict[str, Any]:
    """The machine of the measurement, and its load."""
    return {**describe(PACKAGES), "load_1_min": round(os.getloadavg()[0], 2)}


def table(result: dict[str, Any], ours: str) -> str:
    """The sides of one workload, times in ms."""
    lines = [
        f"{'':34}{'threads':>8}{'median':>10}{'least':>10}{'cpu':>10}{'× ours':>8}  from 50: largest   mean"
        "  from the limit: largest   mean"
    ]
    base = result["sides"][ours]
    for name, side in result["sides"].items():
        ratio = side["median_ms"] / base["median_ms"]
        apart = side["differences"]
        off = (
            ""
            if apart is None
            else "{:>18.1e}{:>9.1e}{:>23.1e}{:>9.1e}".format(*apart["from_50"], *apart["from_limit"])
        )
        lines.append(
            f"{name:34}{side['threads']:>8}{side['median_ms']:>10.1f}{side['least_ms']:>10.1f}"
            f"{side['cpu_median_ms']:>10.1f}{ratio:>8.2f}{off}"
        )
    return "\n".join(lines)
