"""What a training or an import reports when it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


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
