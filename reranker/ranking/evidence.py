"""Adds the evidence for each candidate into its score: the first stage's score, transport, feedback, neighbours, what
a sentence encoder makes of the query, and how much of the query the candidate holds.

Each kind of evidence but the last is scaled to 0 to 1 over the candidates (the worst 0, the best 1). Each is weighted
by its share. The shares sum to 1, so the score lies in [0.02, 1] and is the sum of its parts. The first stage counts by
its ranks too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.answers.search import ScoreParts
from reranker.base.errors import WrongParameter
from reranker.ranking.corrections import Corrections, order_distance
from reranker.ranking.coverage import Coverage
from reranker.ranking.scores import WINDOW_FLOOR


class Shares(NamedTuple):
    """How much each kind of evidence counts; they sum to 1."""

    first_stage: float
    transport: float
    feedback: float = 0.0
    neighbours: float = 0.0
    encoder: float = 0.0
    coverage: float = 0.0

    def with_share(self, kind: str, share: float) -> Shares:
        """One kind of evidence counts `share` (0 to 1); the others share the rest in proportion.

        >>> Shares(first_stage=0.6, transport=0.2, neighbours=0.2).with_share("first_stage", 0.5)
        Shares(first_stage=0.5, transport=0.25, feedback=0.0, neighbours=0.25, encoder=0.0, coverage=0.0)
        """
        scale = (1.0 - share) / (1.0 - getattr(self, kind))
        return Shares(*(scale * each for each in self))._replace(**{kind: share})

    def with_coverage(self) -> Shares:
        """The coverage has its part of what the first stage has."""
        first_stage = self.first_stage
        return self._replace(first_stage=(1.0 - COVERAGE_SHARE) * first_stage, coverage=COVERAGE_SHARE * first_stage)


# Chosen on six English collections together (papers/results/order.md).
PLAIN = Shares(first_stage=0.6, transport=0.4)
WITH_NEIGHBOURS = Shares(first_stage=0.6, transport=0.2, neighbours=0.2)
WITH_FEEDBACK = Shares(first_stage=0.25, transport=0.2, feedback=0.3, neighbours=0.25)

ENCODER_SHARE = 0.25
"""Of the sentence encoder, where the query is encoded."""

SHORT_QUERY_ENCODER_SHARE = 0.45
"""The same where neither feedback nor neighbours count: the words of a short query say less."""

RANK_SHARE = 0.5
"""Of the ranks in the first stage's part; the scores have the rest. The first ranks are far apart, so that a small
difference in other evidence does not move a hit past the first one."""

COVERAGE_SHARE = 0.3
"""Of each candidate's coverage, in what the first stage has by `Shares`."""

COVERED_SHARE = 0.65
"""What the first stage has at least where its best hits hold all of the query. It rises to this by the square of what
they hold. Chosen with the two shares above on nine collections in five languages and on titles of four manuals
(papers/results/order.md)."""

# Of a document in another language than the query's, whose first stage is by translations of the query's words. Chosen
# on the development half of the LibreOffice help and on German and Greek questions (papers/results/order.md).
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
    way = min(max((n_query_words - _SHORT_QUERY_WORDS) / (_LONG_QUERY_WORDS - _SHORT_QUERY_WORDS), 0.0), 1.0)
    return (1.0 - way) * TRANSLATED_SHARE + way * _LONG_TRANSLATED_SHARE


def covered_first_stage(share: float, covered: float) -> float:
    """The share of the first stage where its best hits hold a part of the query (`Coverage.of_best`), 0 to 1.

    >>> [round(covered_first_stage(0.25, covered), 2) for covered in (0.0, 0.5, 1.0)]
    [0.25, 0.35, 0.65]
    """
    return max(share, share + covered**2 * (COVERED_SHARE - share))


def check_first_stage_share(share: float | None) -> None:
    """Raises WrongParameter where the share is not None and not 0 to 1."""
    if share is not None and not 0 <= share <= 1:
        raise WrongParameter(f"first_stage_share is {share}; give 0 to 1, or leave it out for the default shares")


class Evidence:
    """What is known of n candidates of one query: the first stage's scores and transport, and what is added to them.

    Args:
        first_stage: (n,) scores, higher is better; NaN for a candidate that the first stage says nothing of: its share
            goes to the other evidence.
        distances: (n,) of the transport; +inf for a candidate without a known word.
        corrections: of the candidates.
        exact: (n,) whether a field of the candidate is the query word for word: transport moves nothing to that field,
            so the order distance counts as 0, however long the other fields are, and the encoder finds none more
            like. None for nowhere.
        first_stage_share: how much the first stage counts, 0 to 1 (`Shares.with_share`); None for the default.
        coverage: of the query by the candidates. None for not known, as it is not of single candidates that it has NaN
            for: the first stage has its share. It adds to a first stage that tells candidates apart; where all have one
            score, as of `match_all`, the order is that of the other evidence.
        translated: (n,) whether the first stage's score is by translations of the query's words: it counts
            `translated_share` by default, and is scaled over these candidates alone. None for nowhere.
        translated_share: see the function of that name.
    """

    def __init__(
        self,
        first_stage: NDArray[np.float64],
        distances: NDArray[np.float64],
        corrections: Corrections,
        *,
        exact: NDArray[np.bool_] | None = None,
        first_stage_share: float | None = None,
        coverage: Coverage | None = None,
        translated: NDArray[np.bool_] | None = None,
        translated_share: float = TRANSLATED_SHARE,
    ) -> None:
        self._covered = 0.0 if coverage is None else round(coverage.of_best, 2)
        self._corrections = corrections
        self._exact = exact if exact is not None and exact.any() else None
        self._first_stage_share = first_stage_share
        self._translated = translated
        self._translated_share = translated_share
        lacks_score = np.isnan(first_stage)
        self._has_score = ~lacks_score if lacks_score.any() else None
        self._cosines: NDArray[np.float64] | None = None
        nearness, self._slope = self._nearness(distances)
        # From 0 to 1, by the names of `Shares`.
        self._scaled = {"first_stage": self._scaled_first_stage(first_stage), "transport": nearness}
        self._lacks_coverage: NDArray[np.bool_] | None = None
        if coverage is not None and not _is_one_score(first_stage):
            lacks = np.isnan(coverage.of_each)
            self._lacks_coverage = lacks if lacks.any() else None
            self._scaled["coverage"] = np.where(lacks, 0.0, coverage.of_each)

    def add_feedback(self, distances: NDArray[np.float64]) -> None:
        """Adds the distances (n,) from the moved query."""
        self._scaled["feedback"], _ = self._nearness(distances)

    def add_neighbours(self, scores: NDArray[np.float64]) -> None:
        """Adds the scores (n,) of the candidates that each resembles (`ranking.neighbours`)."""
        self._scaled["neighbours"] = scaled(scores)

    def add_encoder(self, cosines: NDArray[np.float64]) -> None:
        """Adds the cosines (n,) between the encoded query and the candidates' nBOW embeddings, NaN for a candidate
        without a known word."""
        self._cosines = cosines
        likeness = scaled(cosines, ~np.isnan(cosines))
        self._scaled["encoder"] = likeness if self._exact is None else np.where(self._exact, 1.0, likeness)

    def scores(self) -> NDArray[np.float64]:
        """The score of each candidate (n,), not rounded."""
        shares = self._shares()
        found = WINDOW_FLOOR + shares["first_stage"] * self._scaled["first_stage"]
        for kind, values in self._scaled.items():
            if kind != "first_stage":
                found += shares[kind] * values
        return found

    def parts(self, place: int) -> ScoreParts:
        """The parts of the score of the candidate at a place, once all evidence is added."""
        return ScoreParts(*self._columns[:, place].tolist())

    def encoder_scaling(self, place: int) -> tuple[float, float]:
        """How a candidate's cosine becomes its part `encoder`, once there are cosines: by how much the part rises with
        the cosine, and what the part would be if no field were the query word for word."""
        assert self._cosines is not None  # noqa: S101 - the caller has added them
        likeness, spread = _scaled_and_spread(self._cosines, ~np.isnan(self._cosines))
        share = float(np.broadcast_to(self._shares()["encoder"], likeness.shape)[place])
        return share / spread if spread > 0 else share, share * float(likeness[place])

    @cached_property
    def _columns(self) -> NDArray[np.float64]:
        """(9, n): the values of `ScoreParts` in the order of its fields."""
        shares, columns = self._shares(), np.zeros((9, len(self._scaled["transport"])))
        falls = shares["transport"] * self._slope
        columns[0] = WINDOW_FLOOR
        columns[3] = 0.0 - falls * self._corrections.added_by_lacking_words
        columns[4] = 0.0 - falls * self._corrections.added_by_hubness
        for row, kind in (
            (1, "first_stage"),
            (2, "transport"),
            (5, "feedback"),
            (6, "neighbours"),
            (7, "encoder"),
            (8, "coverage"),
        ):
            if kind in self._scaled:
                columns[row] = shares[kind] * self._scaled[kind]
        columns[2] -= columns[3]
        columns[2] -= columns[4]
        return columns

    def _shares(self) -> Mapping[str, NDArray[np.float64] | float]:
        """Of each kind of evidence, for all candidates or (n,) for each; what is missing leaves its share to the
        others, in proportion."""
        kinds = (kind in self._scaled for kind in ("feedback", "neighbours", "encoder", "coverage"))
        choices = _choices(*kinds, self._first_stage_share, self._covered, self._translated_share)
        lacks_score = None if self._has_score is None else ~self._has_score
        others = self._lacks_coverage, self._translated, lacks_score
        if all(one is None for one in others):
            return dict(zip(Shares._fields, choices[0].tolist(), strict=True))
        places = np.zeros(len(self._scaled["transport"]), np.intp)
        for row, is_one in enumerate(others, start=1):
            if is_one is not None:
                places[is_one] = row
        return dict(zip(Shares._fields, choices.T[:, places], strict=True))

    def _scaled_first_stage(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) from 0 to 1; scores by translations are scaled apart, since they are lower, and by score alone."""
        if self._translated is None:
            return scaled_with_ranks(scores, self._has_score)
        has_score = np.ones(len(scores), np.bool_) if self._has_score is None else self._has_score
        own, translated = has_score & ~self._translated, has_score & self._translated
        return scaled_with_ranks(scores, own) + scaled(scores, translated)

    def _nearness(self, distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | float]:
        """1 for exact candidates and the nearest by `Correction.order_distance`, 0 for the farthest and for those
        without a known word; and by how much it falls with the order distance: 0 where it does not."""
        ordered_by = order_distance(distances, self._corrections.unknown_share, self._corrections.offset)
        if self._exact is not None:
            ordered_by = np.where(self._exact, ordered_by.min(initial=0.0), ordered_by)
        is_known = np.isfinite(ordered_by)
        near, spread = _scaled_and_spread(-ordered_by, is_known)
        return near, is_known / spread if spread > 0 else 0.0


def _is_one_score(first_stage: NDArray[np.float64]) -> bool:
    return len(first_stage) > 1 and bool(first_stage.min() == first_stage.max())  # no comparison holds of NaN


def _default_shares(has_feedback: bool, has_neighbours: bool, has_encoder: bool) -> Shares:
    """Those of the evidence that there is, where each candidate has all of it."""
    if not has_feedback:
        shares = WITH_NEIGHBOURS if has_neighbours else PLAIN
    else:
        shares = WITH_FEEDBACK if has_neighbours else WITH_FEEDBACK.with_share("neighbours", 0.0)
    if not has_encoder:
        return shares
    return shares.with_share("encoder", SHORT_QUERY_ENCODER_SHARE if shares is PLAIN else ENCODER_SHARE)


def _first_stage_changed(
    shares: Shares, first_stage_share: float | None, covered: float, with_coverage: bool
) -> Shares:
    if first_stage_share is None:
        shares = shares.with_share("first_stage", covered_first_stage(shares.first_stage, covered))
    if with_coverage:
        shares = shares.with_coverage()
    return shares if first_stage_share is None else shares.with_share("first_stage", first_stage_share)


@lru_cache(512)
def _choices(
    has_feedback: bool,
    has_neighbours: bool,
    has_encoder: bool,
    has_coverage: bool,
    first_stage_share: float | None,
    covered: float,
    translated_share: float,
) -> NDArray[np.float64]:
    """(4, 6) the shares of the score by their places in `Shares`: of a candidate with all of the evidence; without
    coverage; found by translations; and without a score of the first stage."""
    shares = _default_shares(has_feedback, has_neighbours, has_encoder)
    whole = _first_stage_changed(shares, first_stage_share, covered, has_coverage)
    uncovered = across = _first_stage_changed(shares, first_stage_share, covered, False)
    if first_stage_share is None:
        across = shares.with_share("first_stage", translated_share)
    without_first_stage = shares.with_share("first_stage", 0.0)
    return (1.0 - WINDOW_FLOOR) * np.array([whole, uncovered, across, without_first_stage])


def scaled(values: NDArray[np.float64], is_known: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Values from the least (0) to the largest (1) of those that are known; the others are 0. Equal ones are all 1.

    Args:
        is_known: (n,); None for all.

    >>> scaled(np.array([3.0, 1.0, 2.0, 9.0]), np.array([True, True, True, False]))
    array([1. , 0. , 0.5, 0. ])
    """
    return _scaled_and_spread(values, is_known)[0]


def scaled_with_ranks(scores: NDArray[np.float64], is_known: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """`scaled`, by the scores and, for `RANK_SHARE` of it, by 1 / (1 + r / 2), where r known scores are higher.

    >>> scaled_with_ranks(np.array([3.0, 1.0, 2.0, 9.0]), np.array([True, True, True, False])).round(3)
    array([1.   , 0.   , 0.417, 0.   ])
    """
    if is_known is not None:
        found = np.zeros(len(scores))
        found[is_known] = scaled_with_ranks(scores[is_known])
        return found
    falling = -scores
    n_higher = np.searchsorted(np.sort(falling), falling).astype(np.float64)
    return (1.0 - RANK_SHARE) * scaled(scores) + RANK_SHARE * scaled(1.0 / (1.0 + n_higher / 2))


def _scaled_and_spread(
    values: NDArray[np.float64], is_known: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], float]:
    """`scaled`, and how far the largest known value is from the least."""
    if is_known is not None and not is_known.all():
        found = np.zeros(len(values))
        found[is_known], spread = _scaled_and_spread(values[is_known], None)
        return found, spread
    if not len(values):
        return values, 0.0
    least = np.minimum.reduce(values)
    spread = float(np.maximum.reduce(values) - least)
    return (values - least) / spread if spread > 0 else np.ones(len(values)), spread
