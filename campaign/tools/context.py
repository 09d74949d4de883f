"""The input of a trial (seed, scale and folder) and its result (figures and failures)."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import cast

MOST_FAILURES = 50
"""Maximum number of failures to keep for a trial; more are only counted."""


@dataclass
class Context:
    """One run of a trial. Thread-safe.

    Attributes:
        scale: 1 is the whole trial; 0.1 does a tenth of it.
        folder: empty at the start, deleted after the trial. It is also the folder of temporary files.
        engine: name of the engine to start (`tests.support.engines.recipes`).
        older: Git revision of the older version; None to choose one.
        figures: rows of the trial's section in the report.
        failures: failed checks, each with what is needed to reproduce it.
    """

    trial: str
    seed: int
    scale: float
    folder: Path
    engine: str
    older: str | None = None
    figures: dict[str, object] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    n_failures: int = 0
    n_checks: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.monotonic()

    def random(self, *names: object) -> Random:
        """A random generator that depends only on the seed, the trial and these names."""
        return Random("/".join(map(str, (self.seed, self.trial, *names))))

    def times(self, n: int, least: int = 1) -> int:
        """`n` times the scale."""
        return max(least, round(n * self.scale))

    def check(self, holds: bool, what: str) -> bool:
        """Records a failure unless the condition is true."""
        with self._lock:
            self.n_checks += 1
            if not holds:
                self.n_failures += 1
                if len(self.failures) < MOST_FAILURES:
                    self.failures.append(what)
                    print(f"  FAILED {self.trial}: {what}", file=sys.stderr, flush=True)
        return holds

    def add(self, figure: str, n: int = 1) -> None:
        """Adds to the count of this name."""
        with self._lock:
            self.figures[figure] = self.counted(figure) + n

    def say(self, text: str) -> None:
        """Shows progress."""
        elapsed = time.monotonic() - self._started
        print(f"  {self.trial} {elapsed:6.0f} s: {text}", file=sys.stderr, flush=True)

    def counted(self, figure: str) -> int:
        """The count of this name so far."""
        return cast(int, self.figures.get(figure, 0))
