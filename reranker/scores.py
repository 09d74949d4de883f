"""Turns distances into relevance scores and into an order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# OpenSearch's rerank processor casts the literal to a Java Double: digits beyond its 18 characters fail the search.
SCORE_DECIMALS = 6

# What a candidate without a known word gets: in (0, 1], below every score of a finite distance (2.2 at most: 0.3125).
LOWEST_SCORE = 1e-6


def score(distance: float) -> float:
    """1 / (1 + distance), rounded to 6 decimals: in (0, 1], falling with the distance (0 or more); `inf` → 0.000001.

    >>> score(0.0), score(1.0), score(float("inf"))
    (1.0, 0.5, 1e-06)
    """
    if math.isinf(distance):
        return LOWEST_SCORE
    return max(LOWEST_SCORE, round(1.0 / (1.0 + distance), SCORE_DECIMALS))


def falling_scores(lowest: float, n_before: int, n: int) -> list[float]:
    """Scores for `n` hits behind `n_before` re-ranked ones, the last with score `lowest`: never rising, in (0, 1].

    >>> falling_scores(0.5, 1, 2)
    [0.333333, 0.25]
    """
    return [
        max(LOWEST_SCORE, round(lowest * (n_before + 1) / (n_before + place + 1), SCORE_DECIMALS))
        for place in range(1, n + 1)
    ]


def order_by_distance(distances: NDArray[np.float64], first_stage_ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The candidates' indices (n,), nearest first; ties, and candidates without a known word, by first-stage rank."""
    return np.lexsort((first_stage_ranks, distances)).astype(np.int64)
