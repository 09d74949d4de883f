"""Runs sides in turn, round after round, and keeps wall and CPU time of each run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

Run = Callable[[], object]


@dataclass(slots=True)
class Times:
    """Times of one side in ms, a value a round."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def measure(self, run: Run) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        self.wall_ms.append(1e3 * (time.perf_counter() - wall))
        self.cpu_ms.append(1e3 * (time.process_time() - cpu))

    @property
    def summary(self) -> dict[str, float]:
        """Median, least and most wall time, median and least CPU time of all threads, in ms."""
        return {
            "median_ms": round(median(self.wall_ms), 3),
            "least_ms": round(min(self.wall_ms), 3),
            "most_ms": round(max(self.wall_ms), 3),
            "cpu_median_ms": round(median(self.cpu_ms), 3),
            "cpu_least_ms": round(min(self.cpu_ms), 3),
            "rounds": len(self.wall_ms),
        }


def in_turn(runs: Mapping[str, Run], rounds: int) -> dict[str, Times]:
    """Each side once, then each again: what else the machine does falls on all of them alike."""
    times = {name: Times() for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].measure(run)
    return times


def once(run: Run) -> float:
    """Wall ms of one run."""
    times = Times()
    times.measure(run)
    return times.wall_ms[0]
