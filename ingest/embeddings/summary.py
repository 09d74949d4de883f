"""The report of a training or an import."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reranker.embeddings import Embeddings


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

    @classmethod
    def of(
        cls,
        embeddings: Embeddings,
        started: float,
        skipped: Mapping[str, int] | None = None,
        warnings: Sequence[str] = (),
    ) -> Summary:
        """What to report of a store that was just made and opened.

        Args:
            started: when the work began, by `time.monotonic`.
        """
        return cls(
            output=embeddings.path,
            version=embeddings.version,
            dim=embeddings.dim,
            languages=dict(embeddings.meta["languages"]),
            skipped={reason: count for reason, count in (skipped or {}).items() if count},
            warnings=tuple(warnings),
            seconds=time.monotonic() - started,
        )
