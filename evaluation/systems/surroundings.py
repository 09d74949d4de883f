"""What every system may need when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.corpora.tasks import Direction


@dataclass(frozen=True)
class Surroundings:
    """The directions of a system's tasks, the folder of its files, and the number of cores."""

    directions: tuple[Direction, ...]
    home: Path
    n_threads: int = 1
