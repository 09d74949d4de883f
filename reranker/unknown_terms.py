"""Finds which of a query's words without an embedding a document holds as they are written: names, identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.bags import BagOfWords, unknown_hash
from reranker.embeddings import Embeddings


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
