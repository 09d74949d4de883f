"""Says what besides its distance moves a candidate in the order of `auto`: its hubness, and words that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.ranking.query import Query
from reranker.ranking.unknown_terms import lacking_terms
from reranker.text.bags import BagOfWords

# Chosen on development pages (papers/results/order.md).
HUBNESS_WEIGHT = 0.2

# The one method that is corrected: the others are those of the papers.
CORRECTED_METHOD = "auto"

_Number = TypeVar("_Number", float, NDArray[np.float64])


class Correction(NamedTuple):
    """What moves one candidate: its row of `Corrections`.

    Attributes:
        lacking_words: the distinct query words without an embedding that the document does not hold.
        hubness: 0 to 1 (`reranker.embeddings.hubness`); None where it is not known.
    """

    unknown_share: float
    lacking_words: tuple[str, ...]
    added_by_lacking_words: float
    hubness: float | None
    added_by_hubness: float
    offset: float

    def order_distance(self, distance: float) -> float:
        """What the order goes by: 0 or more, `inf` for a distance of `inf`."""
        return order_distance(distance, self.unknown_share, self.offset)


@dataclass(slots=True, eq=False)  # a frozen one takes three times as long to make
class Corrections:
    """What moves each of n candidates of one query.

    The order goes by (1 - unknown_share) · distance + unknown_share · lacking_share + 0.2 · hubness: a query word
    without an embedding costs 0 where the document holds it as it is written, and 1 where it does not.

    Attributes:
        offset: (n,) what added to the distances brings candidates of one query into order.
        unknown_share: of the query's tokens without an embedding, 0 to below 1.
        unknown: these tokens, each once; `lacking`: (n, n_unknown) which of them a candidate does not hold.
        hubness: (n,); None where it is not known.
        added_by_lacking_words, added_by_hubness: (n,).
    """

    offset: NDArray[np.float64]
    unknown_share: float
    unknown: Sequence[str]
    lacking: NDArray[np.bool_]
    hubness: NDArray[np.float64] | None
    added_by_lacking_words: NDArray[np.float64]
    added_by_hubness: NDArray[np.float64]

    @classmethod
    def make(
        cls,
        n: int,
        hubness: NDArray[np.float64] | None = None,
        unknown_share: float = 0.0,
        unknown: Sequence[str] = (),
        lacking: NDArray[np.bool_] | None = None,
    ) -> Corrections:
        """Of n candidates; without hubness and unknown words nothing moves them."""
        if lacking is None or not unknown:
            unknown_share, unknown, lacking = 0.0, (), np.zeros((n, 0), np.bool_)
        by_words = unknown_share * (lacking.sum(axis=1) / max(len(unknown), 1))
        by_hubness = np.zeros(n) if hubness is None else HUBNESS_WEIGHT * hubness
        offset = (by_words + by_hubness) / (1.0 - unknown_share)
        return cls(offset, unknown_share, unknown, lacking, hubness, by_words, by_hubness)

    def __getitem__(self, place: int) -> Correction:
        """That of one candidate."""
        return Correction(
            self.unknown_share,
            tuple(compress(self.unknown, self.lacking[place])) if self.unknown else (),
            float(self.added_by_lacking_words[place]),
            None if self.hubness is None else float(self.hubness[place]),
            float(self.added_by_hubness[place]),
            float(self.offset[place]),
        )


def order_distance(distance: _Number, unknown_share: float, offset: _Number) -> _Number:
    """What the order goes by, of one candidate of a query or of many at once."""
    # Not term by term: the rounding must not put it in another order than distance + offset does.
    return (1.0 - unknown_share) * (distance + offset)


def start_encoding(query: Query, method: str) -> None:
    """Begins to encode a query that will be ranked by `auto`, while its caller does other work."""
    if method == CORRECTED_METHOD and query.encoding is not None:
        query.encoding()


def find_corrections(
    query: Query,
    candidates: Sequence[tuple[BagOfWords, str]],
    hubness: NDArray[np.float64] | None,
    embeddings: Embeddings,
) -> Corrections:
    """What moves each candidate of a query.

    Args:
        candidates: bags of words, each with its language.
        hubness: (n_candidates,) theirs for queries in this language; None where it is not known.
    """
    unknown = tuple(dict.fromkeys(query.unknown_words))
    lacking = lacking_terms(unknown, candidates, embeddings) if unknown else None
    return Corrections.make(len(candidates), hubness, query.unknown_share, unknown, lacking)
