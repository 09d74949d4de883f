"""What a system may be made with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.corpora.tasks import Direction


@dataclass(frozen=True)
class Surroundings:
    """The directions that a system will be asked for, a home to keep things in, and cores."""

    directions: tuple[Direction, ...]
    home: Path
    n_threads: int = 1
