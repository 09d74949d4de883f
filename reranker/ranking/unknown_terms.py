"""Finds which of a query's words without an embedding a document holds as they are written: names, identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, unknown_hash
from reranker.text.tokens import has_digit

# Of queries with a number in two English collections 0.5 orders better than 1 and 0.25 (docs/evaluation.md).
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
    unknown: Sequence[str], bag: BagOfWords, language: str, embeddings: Embeddings
) -> tuple[str, ...] | None:
    """Those of a query's unknown tokens that a document does not hold, each once, in their order; None where its bag
    was packed without what tells.

    A word that the document's own language knows is found among its terms.

    Args:
        unknown: normalised tokens.
        language: of the document.
    """
    hashes = bag.unknown_hashes
    if hashes is None:
        return None
    held = set(hashes.tolist())
    return tuple(
        token
        for token in dict.fromkeys(unknown)
        if unknown_hash(token) not in held and embeddings.stand_in(language, token) not in bag.term_ids
    )
