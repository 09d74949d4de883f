"""Documents: as given, as an index stores them, and as a first stage returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import BagOfWords


def id_hash(doc_id: str) -> int:
    """A 63-bit hash of a document's id, never 0, the same in every process. Among ten million ids two collide with
    a chance of 5 in a million."""
    return (int.from_bytes(blake2b(doc_id.encode(), digest_size=8).digest()) >> 1) or 1


@dataclass(frozen=True, slots=True)
class Document:
    """A document as given."""

    doc_id: str
    text: str
    language: str
    title: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def full_text(self) -> str:
        """Title and text together, as they are tokenised and searched."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True, eq=False)
class EncodedDocument:
    """A document with its bag of words and, on its way to an index, its nBOW embedding.

    Attributes:
        nbow: (dim,) float32, L2-normalised; None if no word is known (a cosine field refuses a zero vector), and for a
            document that comes from an index.
        weights_version: version of the document frequencies that weighted `nbow`; empty if not known.
    """

    document: Document
    bag: BagOfWords
    nbow: NDArray[np.float32] | None = None
    weights_version: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A document that a first stage found, with what re-ranking needs. Its text stays in the store.

    Attributes:
        title_key: of its title (`exact_text.exact_key`), which is compared with that of the query.
        first_stage_score: the cosine for kNN, the engine's BM25, or the fused reciprocal ranks.
        first_stage_rank: from 1.
    """

    doc_id: str
    language: str
    bag: BagOfWords
    first_stage_score: float
    first_stage_rank: int
    title_key: int | None = None
