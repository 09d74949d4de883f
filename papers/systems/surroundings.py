"""What a system may need when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from papers.corpora.tasks import Direction
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings


@dataclass(frozen=True)
class Surroundings:
    """The directions of a system's tasks, the folder of its files, the number of cores, and trained embeddings for
    systems that compare words."""

    directions: tuple[Direction, ...]
    home: Path
    n_threads: int = 1
    embeddings: Embeddings | None = None

    def needed_embeddings(self, name: str) -> Embeddings:
        """The embeddings.

        Raises:
            BadInput: there are none.
        """
        if self.embeddings is None:
            raise BadInput(f"{name} compares words by their embeddings; give some as Surroundings.embeddings")
        return self.embeddings
