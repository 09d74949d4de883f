"""What a training or an import reports: its progress while it runs, and a summary when it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Progress = Callable[[int, int | None, str], None]
"""`progress(done, total, description)`; `total` is None while it is unknown."""


def no_progress(done: int, total: int | None, description: str) -> None:
    """Reports nothing; the default wherever a `Progress` is taken."""


@dataclass(frozen=True, slots=True)
class Summary:
    """An embedding store that was made.

    Attributes:
        output: its folder.
        version: its version.
        dim: dimensions of an embedding.
        languages: terms of each language.
        skipped: what was read but left out, by reason; reasons that never came up are not named.
        warnings: what the user should know about the result, in sentences.
        seconds: how long it took.
    """

    output: Path
    version: str
    dim: int
    languages: dict[str, int]
    skipped: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
