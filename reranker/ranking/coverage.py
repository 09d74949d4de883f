"""How much of a query the first stage's best hits hold: where they hold most of it, the first stage misses little."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.ranking.query_stems import QueryStems
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies

N_BEST = 10
"""Of the first stage's hits."""


def covered_share(
    tokens: Sequence[str],
    language: str,
    candidates: Sequence[tuple[BagOfWords, str]],
    first_stage: NDArray[np.float64],
    embeddings: Embeddings,
    frequencies: DocumentFrequencies | None,
) -> float:
    """The share of the query's words that the first stage's best hits in its language hold, 0 to 1: the mean over the
    hits, by idf. A word without an embedding counts twice where it is held, since the first stage alone compares it.

    Args:
        tokens: of the query, normalised, with repetitions.
        candidates: bags, each with its language.
        first_stage: (n,) scores of the candidates, higher is better; NaN for those that it has none of.
        frequencies: as `QueryStems.idf` takes them.
    """
    has_score = np.count_nonzero(~np.isnan(first_stage))  # NaN comes last
    by_score = np.argsort(-first_stage, kind="stable")[:has_score].tolist()
    own = (candidates[place][0] for place in by_score if candidates[place][1] == language)
    best = list(islice(own, N_BEST))
    if not best or not tokens:
        return 0.0
    query = QueryStems(tokens, language, embeddings)
    counts, held = query.counts_in(best)
    weights = query.n_times * query.idf(counts, held, frequencies)
    total = float(weights.sum())
    if total <= 0:
        return 0.0
    covered = (counts > 0) @ (weights * (1.0 + query.is_unknown))
    return min(float(covered.mean()) / total, 1.0)
