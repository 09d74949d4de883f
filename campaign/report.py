"""Turns the results of trials into Markdown; decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """The result of a trial.

    Attributes:
        n_failures: number of failures; `failures` has the first ones.
        took_s: wall time (s).
    """

    name: str
    asserts: str
    seed: int
    scale: float
    took_s: float
    n_checks: int = 0
    n_failures: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)


def report(results: Sequence[Result], machine: str) -> str:
    """An overview, then a section of figures for each trial."""
    lines = [
        f"Machine: {machine}. Seed {results[0].seed}, scale {results[0].scale:g}." if results else "No trial ran.",
        "",
        "| trial | result | checks | failures | minutes |",
        "|---|---|---|---|---|",
        *(
            f"| `{one.name}` | {'held' if one.n_failures == 0 else 'FAILED'} | {one.n_checks:,} | {one.n_failures:,} | "
            f"{one.took_s / 60:.1f} |"
            for one in results
        ),
        "",
    ]
    for one in results:
        lines += _section(one)
    return "\n".join(lines)


def _section(result: Result) -> list[str]:
    lines = [f"### {result.name}", "", result.asserts, ""]
    if result.figures:
        lines += ["| figure | value |", "|---|---|"]
        lines += [f"| {name} | {_shown(value)} |" for name, value in result.figures.items()]
        lines.append("")
    if result.failures:
        lines += [
            f"What failed (`python -m campaign --only {result.name} --seed {result.seed} --scale {result.scale:g}`):",
            "",
        ]
        lines += [f"- {_shortened(' '.join(failure.split()))}" for failure in result.failures]
        lines.append("")
    return lines


def _shortened(text: str) -> str:
    """Shortens a failure. The beginning says what was done, the end of a traceback what went wrong."""
    return text if len(text) <= 700 else f"{text[:300]} … {text[-400:]}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
