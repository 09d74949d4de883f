"""Finds which of a query's words without an embedding a document holds as they are written: names, identifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, holds_hashes, unknown_hash
from reranker.text.tokens import has_digit

# Of queries with a number in two English collections 0.5 orders better than 1 and 0.25 (papers/results/order.md).
NUMBER_WEIGHT = 0.5


def unknown_share(tokens: Sequence[str], unknown: Sequence[str]) -> float:
    """The share of a query's tokens without an embedding, 0 to 1; a number counts half as much as a word.

    Args:
        tokens: all of the query, at least one.
        unknown: those of them without an embedding, all numbers among them.
    """
    n_numbers = sum(map(has_digit, unknown))
    without_weight = (1.0 - NUMBER_WEIGHT) * n_numbers
    return (len(unknown) - without_weight) / (len(tokens) - without_weight)


def lacking_terms(
    unknown: Sequence[str], candidates: Sequence[tuple[BagOfWords, str]], embeddings: Embeddings
) -> NDArray[np.bool_]:
    """Which of a query's unknown tokens each candidate does not hold, (n_candidates, n_unknown).

    A word that the document's own language knows is found among its terms: by all of its parts, if it has several.

    Args:
        unknown: normalised tokens, each once.
        candidates: bags, each with its language.
    """
    bags = [bag for bag, _ in candidates]
    lacking = ~holds_hashes(bags, list(map(unknown_hash, unknown)))
    for language in {language for _, language in candidates}:
        for place, term_ids in enumerate(embeddings.stand_ins(language, token) for token in unknown):
            if not term_ids:
                continue
            for row, (bag, other) in enumerate(candidates):
                if other == language and all(term_id in bag.term_ids for term_id in term_ids):
                    lacking[row, place] = False
    return lacking
