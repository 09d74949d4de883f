"""Adds the evidence for each candidate into its score: the first stage's score, transport, feedback, neighbours and
what a sentence encoder makes of the query.

Each kind of evidence is scaled to 0 to 1 over the candidates (the worst 0, the best 1) and weighted by its share. The
shares sum to 1, so the score lies in [0.02, 1] and is the sum of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.answers import ScoreParts as ScoreParts
from reranker.base.errors import WrongParameter
from reranker.ranking.corrections import Correction, CorrectionArrays, order_distance
from reranker.ranking.scores import WINDOW_FLOOR


class Shares(NamedTuple):
    """How much each kind of evidence counts; they sum to 1."""

    first_stage: float
    transport: float
    feedback: float = 0.0
    neighbours: float = 0.0
    encoder: float = 0.0

    def with_share(self, kind: str, share: float) -> Shares:
        """One kind of evidence counts `share` (0 to 1); the others share the rest in proportion.

        >>> Shares(first_stage=0.6, transport=0.2, neighbours=0.2).with_share("first_stage", 0.5)
        Shares(first_stage=0.5, transport=0.25, feedback=0.0, neighbours=0.25, encoder=0.0)
        """
        scale = (1.0 - share) / (1.0 - getattr(self, kind))
        return Shares(*(scale * each for each in self))._replace(**{kind: share})


# Chosen on six English collections together (docs/evaluation.md).
PLAIN = Shares(first_stage=0.8, transport=0.2)
WITH_NEIGHBOURS = Shares(first_stage=0.6, transport=0.2, neighbours=0.2)
WITH_FEEDBACK = Shares(first_stage=0.25, transport=0.2, feedback=0.3, neighbours=0.25)

ENCODER_SHARE = 0.2
"""Of the sentence encoder, where the query is encoded."""

SHORT_QUERY_ENCODER_SHARE = 0.5
"""The same where neither feedback nor neighbours count: the words of a short query say less."""

# Of a document in another language than the query's, whose first stage is by translations of the query's words. Chosen
# on the development half of the LibreOffice help and on German and Greek questions (docs/evaluation.md).
# Translations tell more of a short query than of a long one, which goes on from a page rather than naming it.
TRANSLATED_SHARE = 0.3
_LONG_TRANSLATED_SHARE = 0.0
_SHORT_QUERY_WORDS, _LONG_QUERY_WORDS = 12, 24


def translated_share(n_query_words: int) -> float:
    """The share of the first stage in the order of documents that it found by translations.

    Args:
        n_query_words: distinct, with an embedding.

    >>> translated_share(3), translated_share(60)
    (0.3, 0.0)
    """
    words = (_SHORT_QUERY_WORDS, _LONG_QUERY_WORDS)
    return float(np.interp(n_query_words, words, (TRANSLATED_SHARE, _LONG_TRANSLATED_SHARE)))


def check_first_stage_share(share: float | None) -> None:
    """Raises WrongParameter where the share is not None and not 0 to 1."""
    if share is not None and not 0 <= share <= 1:
        raise WrongParameter(f"first_stage_share is {share}; give 0 to 1, or leave it out for the default shares")


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of n candidates of one query.

    Attributes:
        first_stage: (n,) scores, higher is better; NaN for a candidate that the first stage says nothing of: its share
            goes to the other evidence.
        distances: (n,) of the transport; +inf for a candidate without a known word.
        corrections: of each candidate; all have the same `unknown_share`.
        feedback: (n,) distances from the moved query; None without feedback.
        neighbours: (n,) scores of the candidates that each resembles (`ranking.neighbours`); None where they do not
            count.
        exact: (n,) whether a field of the candidate is the query word for word: transport moves nothing to that field,
            so the order distance counts as 0, however long the other fields are, and the encoder finds none more
            like. None for nowhere.
        first_stage_share: how much the first stage counts, 0 to 1 (`Shares.with_share`); None for the default.
        translated: (n,) whether the first stage's score is by translations of the query's words: it counts
            `translated_share` by default, and is scaled over these candidates alone. None for nowhere.
        translated_share: see the function of that name.
        encoder: (n,) cosines between the encoded query and the candidates' nBOW embeddings; NaN for a candidate
            without a known word. None where the query is not encoded.
        arrays: of the corrections; made of them where it is left out.
    """

    first_stage: NDArray[np.float64]
    distances: NDArray[np.float64]
    corrections: Sequence[Correction]
    feedback: NDArray[np.float64] | None = None
    neighbours: NDArray[np.float64] | None = None
    exact: NDArray[np.bool_] | None = None
    first_stage_share: float | None = None
    translated: NDArray[np.bool_] | None = None
    translated_share: float = TRANSLATED_SHARE
    encoder: NDArray[np.float64] | None = None
    arrays: CorrectionArrays = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.arrays is None:
            object.__setattr__(self, "arrays", CorrectionArrays.from_corrections(self.corrections))

    def scores(self) -> NDArray[np.float64]:
        """The score of each candidate (n,), not rounded."""
        found: NDArray[np.float64] = self._columns().sum(axis=0)
        return found

    def parts(self) -> list[ScoreParts]:
        """The parts of each candidate's score."""
        return [ScoreParts(*row) for row in self._columns().T.tolist()]

    def _columns(self) -> NDArray[np.float64]:
        """(8, n): the values of `ScoreParts` in the order of its fields."""
        first, transport, feedback, neighbours, encoder = self._shares()
        nearness, slope = self._nearness(self.distances)
        lacking = 0.0 - transport * slope * self.arrays.added_by_lacking_words
        hubness = 0.0 - transport * slope * self.arrays.added_by_hubness
        columns = np.zeros((8, len(self.distances)))
        columns[0] = WINDOW_FLOOR
        columns[1] = first * self._scaled_first_stage()
        columns[2] = transport * nearness - lacking - hubness
        columns[3] = lacking
        columns[4] = hubness
        if self.feedback is not None:
            columns[5] = feedback * self._nearness(self.feedback)[0]
        if self.neighbours is not None:
            columns[6] = neighbours * scaled(self.neighbours, np.ones(len(self.neighbours), np.bool_))
        if self.encoder is not None:
            columns[7] = encoder * self._encoder_likeness(self.encoder)
        return columns

    def _shares(self) -> NDArray[np.float64]:
        """(5, n): of each kind of evidence, for each candidate; what is missing leaves its share to the others, in
        proportion."""
        shares = self._default_shares()
        wanted, across = shares, shares.with_share("first_stage", self.translated_share)
        if self.first_stage_share is not None:
            wanted = across = shares.with_share("first_stage", self.first_stage_share)
        without = shares.with_share("first_stage", 0.0)
        choices = np.array([wanted, across, without]).T
        kinds = np.where(np.isnan(self.first_stage), 2, 0 if self.translated is None else self.translated)
        found: NDArray[np.float64] = choices[:, kinds.astype(np.intp)]
        return (1.0 - WINDOW_FLOOR) * found

    def _default_shares(self) -> Shares:
        """Those of the evidence that there is, where each candidate has all of it."""
        if self.feedback is None:
            shares = PLAIN if self.neighbours is None else WITH_NEIGHBOURS
        else:
            shares = WITH_FEEDBACK if self.neighbours is not None else WITH_FEEDBACK.with_share("neighbours", 0.0)
        if self.encoder is None:
            return shares
        return shares.with_share("encoder", SHORT_QUERY_ENCODER_SHARE if shares is PLAIN else ENCODER_SHARE)

    def _scaled_first_stage(self) -> NDArray[np.float64]:
        """(n,) from 0 to 1; scores by translations are scaled apart, since they are lower."""
        has_score = ~np.isnan(self.first_stage)
        scores = np.where(has_score, self.first_stage, 0.0)
        if self.translated is None:
            return scaled(scores, has_score)
        translated = has_score & self.translated
        return scaled(scores, has_score & ~self.translated) + scaled(scores, translated)

    def _encoder_likeness(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 for exact candidates and the likest, 0 for the least like and for those without a known word."""
        likeness = scaled(cosines, ~np.isnan(cosines))
        return likeness if self.exact is None else np.where(self.exact, 1.0, likeness)

    def _nearness(self, distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """1 for exact candidates and the nearest by `Correction.order_distance`, 0 for the farthest and for those
        without a known word; and by how much it falls with the order distance: 0 where it does not."""
        ordered_by = order_distance(distances, self.arrays.unknown_share, self.arrays.offset)
        if self.exact is not None:
            ordered_by = np.where(self.exact, ordered_by.min(initial=0.0), ordered_by)
        is_known = np.isfinite(ordered_by)
        near = scaled(np.where(is_known, -ordered_by, 0.0), is_known)
        spread = np.ptp(ordered_by[is_known]) if is_known.any() else 0.0
        return near, np.where(is_known & (spread > 0), 1.0 / (spread or 1.0), 0.0)


def scaled(values: NDArray[np.float64], is_known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values from the least (0) to the largest (1) of those that are known; the others are 0. Equal ones are all 1.

    >>> scaled(np.array([3.0, 1.0, 2.0, 9.0]), np.array([True, True, True, False]))
    array([1. , 0. , 0.5, 0. ])
    """
    known = values[is_known]
    if not len(known):
        return np.zeros(len(values))
    least, most = known.min(), known.max()
    if most <= least:
        return is_known.astype(np.float64)
    found: NDArray[np.float64] = np.where(is_known, (values - least) / (most - least), 0.0)
    return found
