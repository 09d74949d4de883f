"""The material for making systems."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.corpora.tasks import Direction


@dataclass(frozen=True)
class Surroundings:
    """The directions of a system's tasks, a home for files, and the number of cores."""

    directions: tuple[Direction, ...]
    home: Path
    n_threads: int = 1
