"""What a system may be made with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.corpora.tasks import Direction
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings


@dataclass(frozen=True)
class Surroundings:
    """The directions that a system will be asked for, a home to keep things in, cores, and trained embeddings for those
    that compare words."""

    directions: tuple[Direction, ...]
    home: Path
    n_threads: int = 1
    embeddings: Embeddings | None = None

    @property
    def embeddings_version(self) -> str:
        """A hash of the embeddings; empty without."""
        return self.embeddings.version if self.embeddings else ""

    def needed_embeddings(self, name: str) -> Embeddings:
        """The embeddings.

        Raises:
            BadInput: there are none.
        """
        if self.embeddings is None:
            raise BadInput(f"{name} compares words by their embeddings; give some as Surroundings.embeddings")
        return self.embeddings
