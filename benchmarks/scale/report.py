"""Turns `results.json` into tables: the cost of each index, its searches, its recall, how these grow, and loads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Result = Mapping[str, Any]


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log value over log size, by least squares: 1 if the value grows with the size, 0 if it does not."""
    logs = [(math.log(size), math.log(value)) for size, value in zip(sizes, values, strict=True)]
    mean_x, mean_y = (sum(one) / len(logs) for one in zip(*logs, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return float(above / sum((x - mean_x) ** 2 for x, _ in logs))


def report(path: Path) -> str:
    """The tables, as Markdown."""
    results: list[Result] = json.loads(path.read_text(encoding="utf-8"))
    return "\n\n".join(
        "\n".join(table)
        for table in (_ingest(results), _files(results), _searches(results), _recall(results), _loads(results))
        if table
    )


def ingest_figures(result: Result) -> dict[str, float]:
    """The figures of one ingest by name; CPU time and bytes are per document."""
    n = result["documents"]
    added = result.get("added", n)
    return {
        "documents a second": round(added / result["wall_s"]),
        "our CPU, ms": round(1e3 * result["our_cpu_s"] / added, 2),
        "engine's CPU with merges, ms": round(1e3 * result["engine_cpu_with_merges_s"] / added, 2),
        "bytes on disk": round(result["after"]["primaries"]["bytes"] / n),
        "segments": result["after"]["primaries"]["segments"],
        "our memory, MB": result["most"]["anonymous_mb"],
        "engine's heap, MB": result["most"]["heap_mb"],
    }


def _ingest(results: Sequence[Result]) -> list[str]:
    return _grown([(one["documents"], ingest_figures(one)) for one in results if one["step"] == "ingest"])


def _files(results: Sequence[Result]) -> list[str]:
    columns = [
        (one["documents"], {kind: round(size / one["documents"], 1) for kind, size in one["files"].items()})
        for one in results
        if one["step"] == "ingest"
    ]
    return _grown(columns)


def _searches(results: Sequence[Result]) -> list[str]:
    columns = []
    for one in results:
        if one["step"] != "search":
            continue
        values: dict[str, float] = {}
        for name, row in one["kinds"].items():
            values[f"{name}: engine alone, ms"] = row["engine"]["median_ms"]
            values[f"{name}: ms"] = row["ours"]["median_ms"]
            values[f"{name}: 95 %"] = row["ours"]["p95_ms"]
            values[f"{name}: times the engine"] = row["times_the_engine"]
            values[f"{name}: own ms"] = row["own_ms"]["median_ms"] if row["own_ms"] else 0
            for who, ms in row["cpu_ms"].items():
                values[f"{name}: CPU, {who}"] = ms
            values[f"{name}: first hit kept"] = row["first_hit_kept"]
        columns.append((one["before"]["engine"]["primaries"]["documents"], values))
    return _grown(columns)


def _loads(results: Sequence[Result]) -> list[str]:
    rows = [
        f"| {one['nodes']} | {row['clients']} | {row['per_second']} | {row['p50_ms']} | {row['p95_ms']} "
        f"| {row['p99_ms']} | {row['re_ranked']} | {row['not_re_ranked']} | {row['mb']} | {row['cores']} |"
        for one in results
        if one["step"] == "load"
        for row in one["load"]
    ]
    if not rows:
        return []
    return [
        "| nodes | clients | searches a second | p50, ms | p95 | p99 | re-ranked | the others | MB | cores |",
        f"|{'---:|' * 10}",
        *rows,
    ]


def _recall(results: Sequence[Result]) -> list[str]:
    columns = []
    for one in results:
        if one["step"] == "recall":
            values = {"exact, ms": one["exact"]["median_ms"], "exact, CPU": one["exact"].get("cpu_ms", 0)}
            for row in one["by_ef"]:
                values[f"recall, ef {row['ef']}"] = row["recall"]
                values[f"first hit, ef {row['ef']}"] = row["first_hit"]
                values[f"ms, ef {row['ef']}"] = row["median_ms"]
                values[f"CPU of the engine, ef {row['ef']}"] = row.get("cpu_ms", 0)
            columns.append((one["engine"]["primaries"]["documents"], values))
    return _grown(columns)


def _grown(columns: Sequence[tuple[int, Mapping[str, float]]]) -> list[str]:
    """A table with a row for each figure, a column for each index, and the slope."""
    if not columns:
        return []
    columns = sorted(columns, key=lambda column: column[0])
    return [
        f"| | {' | '.join(f'{n:,}' for n, _ in columns)} | slope |",
        f"|---|{'---:|' * len(columns)}---:|",
        *(_row(name, columns) for name in columns[0][1]),
    ]


def _row(name: str, columns: Sequence[tuple[int, Mapping[str, float]]]) -> str:
    known = [(n, values[name]) for n, values in columns if values.get(name, 0) > 0]
    is_growth = len({n for n, _ in known}) > 1
    grown = f"{slope([n for n, _ in known], [value for _, value in known]):.2f}" if is_growth else ""
    return f"| {name} | {' | '.join(_shown(values.get(name)) for _, values in columns)} | {grown} |"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,}"
