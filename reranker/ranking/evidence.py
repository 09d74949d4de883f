"""Adds the evidence for each candidate into its score: the first stage's score, transport, feedback, neighbours and
what a sentence encoder makes of the query.

Each kind of evidence is scaled to 0 to 1 over the candidates (the worst 0, the best 1) and weighted by its share. The
shares sum to 1, so the score lies in [0.02, 1] and is the sum of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.answers import ScoreParts as ScoreParts
from reranker.base.errors import WrongParameter
from reranker.ranking.corrections import Corrections, order_distance
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


class _Scaled(NamedTuple):
    """What the first stage and transport say of n candidates, scaled.

    Attributes:
        first_stage: (n,) from 0 to 1.
        nearness: (n,) from 0 to 1 by the order distance; `slope`: by how much it falls with that, (n,) or one for all.
    """

    first_stage: NDArray[np.float64]
    nearness: NDArray[np.float64]
    slope: NDArray[np.float64] | float


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of n candidates of one query.

    Attributes:
        first_stage: (n,) scores, higher is better; NaN for a candidate that the first stage says nothing of: its share
            goes to the other evidence.
        distances: (n,) of the transport; +inf for a candidate without a known word.
        corrections: of the candidates.
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
        scaled: made of the first stage, the distances and the corrections where it is left out.
    """

    first_stage: NDArray[np.float64]
    distances: NDArray[np.float64]
    corrections: Corrections
    feedback: NDArray[np.float64] | None = None
    neighbours: NDArray[np.float64] | None = None
    exact: NDArray[np.bool_] | None = None
    first_stage_share: float | None = None
    translated: NDArray[np.bool_] | None = None
    translated_share: float = TRANSLATED_SHARE
    encoder: NDArray[np.float64] | None = None
    scaled: _Scaled = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.scaled is None:
            made = _Scaled(self._scaled_first_stage(), *self._nearness(self.distances))
            object.__setattr__(self, "scaled", made)

    def scores(self) -> NDArray[np.float64]:
        """The score of each candidate (n,), not rounded."""
        first, transport, *others = self._shares()
        found: NDArray[np.float64] = first * self.scaled.first_stage + transport * self.scaled.nearness
        found += WINDOW_FLOOR
        for share, values in zip(others, self._other_evidence(), strict=True):
            if values is not None:
                found += share * values
        return found

    def parts(self) -> list[ScoreParts]:
        """The parts of each candidate's score."""
        return [ScoreParts(*row) for row in self.columns().T.tolist()]

    def columns(self) -> NDArray[np.float64]:
        """(8, n): the values of `ScoreParts` in the order of its fields."""
        first, transport, *others = self._shares()
        falls = transport * self.scaled.slope
        columns = np.zeros((8, len(self.distances)))
        columns[0] = WINDOW_FLOOR
        columns[1] = first * self.scaled.first_stage
        columns[3] = 0.0 - falls * self.corrections.added_by_lacking_words
        columns[4] = 0.0 - falls * self.corrections.added_by_hubness
        columns[2] = transport * self.scaled.nearness - columns[3] - columns[4]
        for column, share, values in zip(columns[5:], others, self._other_evidence(), strict=True):
            if values is not None:
                column[:] = share * values
        return columns

    def _other_evidence(self) -> tuple[NDArray[np.float64] | None, ...]:
        """Feedback, neighbours and encoder from 0 to 1, (n,) each; None for what does not count."""
        return (
            None if self.feedback is None else self._nearness(self.feedback)[0],
            None if self.neighbours is None else scaled(self.neighbours),
            None if self.encoder is None else self._encoder_likeness(self.encoder),
        )

    def _shares(self) -> NDArray[np.float64]:
        """Of each kind of evidence, (5, n) for each candidate or (5, 1) for all; what is missing leaves its share to
        the others, in proportion."""
        shares = self._default_shares()
        wanted, across = shares, shares.with_share("first_stage", self.translated_share)
        if self.first_stage_share is not None:
            wanted = across = shares.with_share("first_stage", self.first_stage_share)
        has_none = np.isnan(self.first_stage)
        if self.translated is None and not has_none.any():
            return (1.0 - WINDOW_FLOOR) * np.array(wanted)[:, None]
        without = shares.with_share("first_stage", 0.0)
        choices = np.array([wanted, across, without]).T
        kinds = np.where(has_none, 2, 0 if self.translated is None else self.translated)
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
        if self.translated is None:
            return scaled(self.first_stage, has_score)
        return scaled(self.first_stage, has_score & ~self.translated) + scaled(
            self.first_stage, has_score & self.translated
        )

    def _encoder_likeness(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 for exact candidates and the likest, 0 for the least like and for those without a known word."""
        likeness = scaled(cosines, ~np.isnan(cosines))
        return likeness if self.exact is None else np.where(self.exact, 1.0, likeness)

    def _nearness(self, distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | float]:
        """1 for exact candidates and the nearest by `Correction.order_distance`, 0 for the farthest and for those
        without a known word; and by how much it falls with the order distance: 0 where it does not."""
        ordered_by = order_distance(distances, self.corrections.unknown_share, self.corrections.offset)
        if self.exact is not None and self.exact.any():
            ordered_by = np.where(self.exact, ordered_by.min(initial=0.0), ordered_by)
        is_known = np.isfinite(ordered_by)
        near = scaled(-ordered_by, is_known)
        all_known = bool(is_known.all())
        known = ordered_by if all_known else ordered_by[is_known]
        spread = float(np.ptp(known)) if len(known) else 0.0
        slope = 1.0 / spread if spread > 0 else 0.0
        return near, slope if all_known else np.where(is_known, slope, 0.0)


def scaled(values: NDArray[np.float64], is_known: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Values from the least (0) to the largest (1) of those that are known; the others are 0. Equal ones are all 1.

    Args:
        is_known: (n,); None for all.

    >>> scaled(np.array([3.0, 1.0, 2.0, 9.0]), np.array([True, True, True, False]))
    array([1. , 0. , 0.5, 0. ])
    """
    found = np.zeros(len(values))
    if is_known is not None and not is_known.all():
        found[is_known] = scaled(values[is_known])
    elif len(values):
        least, most = values.min(), values.max()
        found[:] = (values - least) / (most - least) if most > least else 1.0
    return found
