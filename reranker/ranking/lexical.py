"""Scores bags of words for a query by BM25 on stems, for candidates that no first stage has scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.ranking.query import Query
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies

# Lucene's.
K1 = 1.2
B = 0.75


def lexical_scores(
    query: Query,
    candidates: Sequence[tuple[BagOfWords, str]],
    frequencies: DocumentFrequencies | None,
) -> NDArray[np.float64] | None:
    """BM25 of each candidate (n,), 0 or more; NaN for one in another language than the query's. None where it tells no
    candidate from another: none is in the query's language, or none of these holds a word of the query.

    The formula is Lucene's: the sum over the query's tokens of ln(1 + (N - df + 0.5) / (df + 0.5)) · tf / (tf + 1.2 ·
    (0.25 + 0.75 · length / mean length)). Terms count by their stems, and compounds by their parts. A token without an
    embedding counts once where the bag holds its hash. The mean length is that of the candidates in the query's
    language.

    Args:
        candidates: bags, each with its language.
        frequencies: of the documents in the query's language. Where there are none, Zipf's law estimates the idf from
            the place of a term in the vocabulary, which begins with the most frequent terms.
    """
    is_own = np.array([code == query.language for _, code in candidates], dtype=bool)
    bags = [bag for bag, code in candidates if code == query.language]
    if not bags or not query.tokens:
        return None
    stems = query.stems
    tf, held = stems.counts_in(bags)
    idf = stems.idf(tf, held, frequencies)
    lengths = np.array([bag.counts.sum() + bag.n_unknown for bag in bags], dtype=np.float64)
    own = _saturated(tf, lengths) @ (idf * stems.n_times)
    if not own.any():
        return None
    scores = np.full(len(candidates), np.nan)
    scores[is_own] = own
    return scores


def _saturated(tf: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n_bags, n_stems): the occurrences as they count in a bag of its length, 0 to below 1."""
    mean_length = max(float(lengths.mean()), 1.0)
    found: NDArray[np.float64] = tf / (tf + (K1 * (1.0 - B + B * lengths / mean_length))[:, None])
    return found
