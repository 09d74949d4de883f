"""Says how much each part of `auto` counts for a query of a given length."""

from __future__ import annotations

from typing import NamedTuple


class AutoShares(NamedTuple):
    """What each part has of `auto`; they sum to 1."""

    nearest: float
    sinkhorn: float
    nbow: float


# Chosen on the development half of the LibreOffice pages (papers/results/order.md): more of `sinkhorn` serves half
# pages in search of the other half and costs on short queries, less the other way round.
SHORT_QUERY, LONG_QUERY = AutoShares(0.45, 0.35, 0.20), AutoShares(0.40, 0.50, 0.10)
SHORT_QUERY_WORDS, LONG_QUERY_WORDS = 12, 24
"""A query of so many distinct words or fewer is short, and one of so many or more is long."""


def auto_shares(n_query_words: int) -> AutoShares:
    """The shares of `auto` for a query of so many distinct words: those of a short query, of a long one, or between.

    >>> auto_shares(8), auto_shares(24)
    (AutoShares(nearest=0.45, sinkhorn=0.35, nbow=0.2), AutoShares(nearest=0.4, sinkhorn=0.5, nbow=0.1))
    """
    way = (n_query_words - SHORT_QUERY_WORDS) / (LONG_QUERY_WORDS - SHORT_QUERY_WORDS)
    way = min(max(way, 0.0), 1.0)
    return AutoShares(*((1 - way) * short + way * long for short, long in zip(SHORT_QUERY, LONG_QUERY, strict=True)))
