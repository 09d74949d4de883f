"""How much of a query candidates hold: each of them, and the first stage's best hits together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.ranking.query import Query
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies

N_BEST = 10
"""Of the first stage's hits."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The parts of a query's words that candidates hold, by idf, 0 to 1.

    Attributes:
        of_each: (n,) what each candidate holds; NaN for one in another language than the query's.
        of_best: the mean of the first stage's best hits in the query's language. A word without an embedding counts
            twice where it is held, since transport and encoder do not compare it. 0 where there are none.
    """

    of_each: NDArray[np.float64]
    of_best: float = 0.0


def find_coverage(
    query: Query,
    candidates: Sequence[tuple[BagOfWords, str]],
    frequencies: DocumentFrequencies | None,
    first_stage: NDArray[np.float64] | None = None,
) -> Coverage:
    """
    Args:
        candidates: bags, each with its language.
        frequencies: as `QueryStems.idf` takes them.
        first_stage: (n,) scores of the candidates, higher is better; NaN for those that it has none of. None for no
            first stage.
    """
    of_each = np.full(len(candidates), np.nan)
    is_own = np.array([language == query.language for _, language in candidates], dtype=bool)
    if not is_own.any():
        return Coverage(of_each)
    stems = query.stems
    counts, terms = stems.counts_in([bag for bag, language in candidates if language == query.language])
    weights = stems.weights(counts, terms, frequencies)
    is_held = counts > 0
    of_each[is_own] = is_held @ weights / weights.sum()
    if first_stage is None:
        return Coverage(of_each)
    scores = first_stage[is_own]
    n_scores = np.count_nonzero(~np.isnan(scores))
    best = np.argsort(-scores, kind="stable")[: min(n_scores, N_BEST)]  # NaN comes last
    if not len(best):
        return Coverage(of_each)
    of_best = float((is_held[best] @ (weights * (1.0 + stems.is_unknown))).mean() / weights.sum())
    return Coverage(of_each, min(of_best, 1.0))
