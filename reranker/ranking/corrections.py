"""Says what besides its distance moves a candidate in the order of `auto`: its hubness, and words that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import Hubness
from reranker.ranking.query import Query
from reranker.ranking.unknown_terms import lacking_terms
from reranker.text.bags import BagOfWords, WeightedBags
from reranker.transport import mean_embeddings

# Chosen on development pages (docs/evaluation.md).
HUBNESS_WEIGHT = 0.2

# The one method that is corrected: the others are those of the papers.
CORRECTED_METHOD = "auto"

_Number = TypeVar("_Number", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True)
class Correction:
    """What moves one candidate.

    The order goes by (1 - unknown_share) · distance + unknown_share · lacking_share + 0.2 · hubness: a query word
    without an embedding costs 0 where the document holds it as it is written, and 1 where it does not.

    Attributes:
        unknown_share: of the query's tokens without an embedding, 0 to below 1; 0 where not all bags of the candidates
            tell theirs.
        lacking_words: the distinct ones of these tokens that the document does not hold.
        lacking_share: their share of all the distinct ones.
        hubness: 0 to 1 (`reranker.embeddings.hubness`); None where it is not known.
    """

    unknown_share: float = 0.0
    lacking_words: tuple[str, ...] = ()
    lacking_share: float = 0.0
    hubness: float | None = None

    @classmethod
    def of(
        cls, unknown: Sequence[str], unknown_share: float, lacking: tuple[str, ...], hubness: float | None
    ) -> Correction:
        """That of a document for a query.

        Args:
            unknown: the query's tokens without an embedding; `unknown_share` of all its tokens.
            lacking: the distinct ones of these that the document does not hold.
        """
        if not unknown:
            return cls(hubness=hubness)
        return cls(unknown_share, lacking, len(lacking) / len(set(unknown)), hubness)

    @property
    def added_by_lacking_words(self) -> float:
        return self.unknown_share * self.lacking_share

    @property
    def added_by_hubness(self) -> float:
        return HUBNESS_WEIGHT * (self.hubness or 0.0)

    @property
    def offset(self) -> float:
        """What added to the distance brings candidates of one query into order."""
        return (self.added_by_lacking_words + self.added_by_hubness) / (1.0 - self.unknown_share)

    def order_distance(self, distance: float) -> float:
        """What the order goes by: 0 or more, `inf` for a distance of `inf`."""
        return order_distance(distance, self.unknown_share, self.offset)


NO_CORRECTION = Correction()


def order_distance(distance: _Number, unknown_share: float, offset: _Number) -> _Number:
    """What the order goes by, of one candidate of a query or of many at once."""
    # Not term by term: the rounding must not put it in another order than distance + offset does.
    return (1.0 - unknown_share) * (distance + offset)


def find_corrections(
    query: Query,
    candidates: Sequence[tuple[BagOfWords, str]],
    weighted: WeightedBags,
    hubness: Hubness,
    embeddings: Embeddings,
    n_threads: int,
) -> list[Correction]:
    """What moves each candidate of a query.

    Args:
        candidates: bags of words, each with its language; `weighted` are the same bags, weighed.
    """
    found = None
    if hubness.is_known(query.language):
        found = hubness.of(query.language, mean_embeddings(weighted, embeddings.vectors, n_threads))
    hubs = [None] * len(candidates) if found is None else found.tolist()
    unknown = query.unknown_words
    if not unknown:
        return [Correction(hubness=each) for each in hubs]
    lacking = [lacking_terms(unknown, bag, language, embeddings) for bag, language in candidates]
    if None in lacking:  # a candidate of which nobody knows would win or lose by it
        return [Correction(hubness=each) for each in hubs]
    return [
        Correction.of(unknown, query.unknown_share, terms or (), each)
        for terms, each in zip(lacking, hubs, strict=True)
    ]
