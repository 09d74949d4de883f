"""Turns distances into relevance scores, and keeps scores falling over all pages."""

from __future__ import annotations

from reranker.answers.search import ScoreParts

# OpenSearch's rerank processor casts the literal to a Java Double: digits beyond its 18 characters fail the search.
SCORE_DECIMALS = 6

# The lowest score that there is: above 0, which the engine's processor cannot read.
LOWEST_SCORE = 1e-6

# Every re-ranked candidate has this score at least, and every hit behind the window less. So scores fall from page to
# page, whatever the window holds: a page behind it can be scored without it.
WINDOW_FLOOR = 0.02


def score(distance: float) -> float:
    """1 / (1 + distance), rounded to 6 decimals: in (0, 1], falling with the distance (0 or more); `inf` → 0.02.

    A finite distance is 2.2 at most, so its score is 0.3125 at least.

    >>> score(0.0), score(1.0), score(float("inf"))
    (1.0, 0.5, 0.02)
    """
    return rounded(1.0 / (1.0 + distance))


def score_of(parts: ScoreParts) -> float:
    """The sum of the parts, rounded as all scores are: 0.02 to 1."""
    return rounded(parts.total)


def rounded(score: float) -> float:
    """A score as it is shown: to 6 decimals, 0.02 to 1."""
    return min(1.0, max(WINDOW_FLOOR, round(score, SCORE_DECIMALS)))


def scores_behind(window: int, first_rank: int, n: int) -> list[float]:
    """Scores of `n` hits behind the window, from the rank `first_rank` on: below every score in the window.

    Args:
        window: candidates that are re-ranked; `first_rank` is above it.

    >>> scores_behind(window=100, first_rank=101, n=2)
    [0.019802, 0.019608]
    """
    return [
        max(LOWEST_SCORE, round(WINDOW_FLOOR * window / rank, SCORE_DECIMALS))
        for rank in range(first_rank, first_rank + n)
    ]


def scores_by_rank(first_rank: int, n: int) -> list[float]:
    """Scores of `n` hits that were not re-ranked, from the rank `first_rank` on: 1 / rank.

    >>> scores_by_rank(1, 3)
    [1.0, 0.5, 0.333333]
    """
    return [max(LOWEST_SCORE, round(1.0 / rank, SCORE_DECIMALS)) for rank in range(first_rank, first_rank + n)]
