"""What a system of the papers may need when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.systems import surroundings
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings


@dataclass(frozen=True)
class Surroundings(surroundings.Surroundings):
    """The surroundings of every system, and trained embeddings for systems that compare words."""

    embeddings: Embeddings | None = None

    @property
    def embeddings_version(self) -> str:
        """The version of the embeddings; empty without embeddings."""
        return self.embeddings.version if self.embeddings else ""

    def needed_embeddings(self, name: str) -> Embeddings:
        """The embeddings.

        Raises:
            BadInput: there are none.
        """
        if self.embeddings is None:
            raise BadInput(f"{name} compares words by their embeddings; give some as Surroundings.embeddings")
        return self.embeddings
