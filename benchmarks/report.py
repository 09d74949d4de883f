"""Writes results as text, JSON and a plot. Computes only ratios."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from papers.base.machine import machine as describe

PACKAGES = ("sinkrank", "numpy", "POT", "ott-jax", "jax", "gensim")


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


def write(results: dict[str, Any], folder: Path) -> list[Path]:
    """Writes `results.json`, and `results.svg` if matplotlib is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "results.json"]
    written[0].write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed")
        return written
    matplotlib.use("svg")
    _plot(results, folder / "results.svg")
    return [*written, folder / "results.svg"]


def _plot(results: dict[str, Any], path: Path) -> None:
    """Draws one bar for each side and workload, on a logarithmic axis, and the growth if it was measured."""
    from matplotlib import pyplot

    growth = results.get("growth", {})
    figure, axes = pyplot.subplots(1, 1 + len(growth), figsize=(9 + 4 * len(growth), 6), squeeze=False)
    works = results["workloads"]
    names = list(dict.fromkeys(name for work in works for name in work["sides"]))
    height = 0.8 / len(works)
    for place, work in enumerate(works):
        displayed = [(k, work["sides"][name]) for k, name in enumerate(names) if name in work["sides"]]
        label = f"{work['spread']['n_query_words']} words, {work['name']}"
        axes[0, 0].barh(
            [k + place * height for k, _ in displayed], [s["median_ms"] for _, s in displayed], height, label=label
        )
    axes[0, 0].set(xscale="log", xlabel="ms, median", yticks=[k + 0.4 - height / 2 for k in range(len(names))])
    axes[0, 0].set_yticklabels(names)
    axes[0, 0].invert_yaxis()
    axes[0, 0].legend(fontsize="small")
    for axis, (name, measured) in zip(axes[0, 1:], growth.items(), strict=True):
        axis.plot(measured["sizes"], measured["cpu_median_ms"], marker="o")
        axis.set(xlabel=name, ylabel="CPU ms, median", xlim=(0, None), ylim=(0, None))
    figure.tight_layout()
    figure.savefig(path)
