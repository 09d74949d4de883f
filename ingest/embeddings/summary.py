"""The result of a training or an import."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reranker.embeddings import Embeddings


@dataclass(frozen=True, slots=True)
class EmbeddingsSummary:
    """A new embedding store.

    Attributes:
        output: its folder.
        version: its version.
        dim: dimensions of an embedding.
        languages: number of terms of each language.
        skipped: number of skipped inputs by reason, without reasons that did not occur.
        warnings: sentences about the result for the user.
        seconds: time that it took.
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
    ) -> EmbeddingsSummary:
        """The summary of a store that was just written.

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
