"""How much of a query the first stage's best hits hold: where they hold most of it, the first stage misses little."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from reranker.ranking.query import Query
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies

N_BEST = 10
"""Of the first stage's hits."""


def covered_share(
    query: Query,
    candidates: Sequence[tuple[BagOfWords, str]],
    first_stage: NDArray[np.float64],
    frequencies: DocumentFrequencies | None,
) -> float:
    """The share of the query's words that the first stage's best hits in its language hold, 0 to 1: the mean over the
    hits, by idf. A word without an embedding counts twice where it is held, since the first stage alone compares it.

    Args:
        candidates: bags, each with its language.
        first_stage: (n,) scores of the candidates, higher is better; NaN for those that it has none of.
        frequencies: as `QueryStems.idf` takes them.
    """
    has_score = np.count_nonzero(~np.isnan(first_stage))  # NaN comes last
    by_score = np.argsort(-first_stage, kind="stable")[:has_score].tolist()
    own = (candidates[place][0] for place in by_score if candidates[place][1] == query.language)
    best = list(islice(own, N_BEST))
    if not best:
        return 0.0
    stems = query.stems
    counts, held = stems.counts_in(best)
    weights = stems.n_times * stems.idf(counts, held, frequencies)
    total = float(weights.sum())
    if total <= 0:
        return 0.0
    covered = (counts > 0) @ (weights * (1.0 + stems.is_unknown))
    return min(float(covered.mean()) / total, 1.0)
