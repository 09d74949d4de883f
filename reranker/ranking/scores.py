"""Keeps scores within their range, and falling over all pages."""

from __future__ import annotations

# OpenSearch's rerank processor casts the literal to a Java Double: digits beyond its 18 characters fail the search.
SCORE_DECIMALS = 6

# The lowest score that there is: above 0, which the engine's processor cannot read.
LOWEST_SCORE = 1e-6

# Every re-ranked candidate has this score at least, and every hit behind the window less. So scores fall from page to
# page, whatever the window holds: a page behind it can be scored without it.
WINDOW_FLOOR = 0.02


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
