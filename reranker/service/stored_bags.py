"""Reads a document that a search pipeline sends of an index of ours: its language and its packed bag, end to end."""

from __future__ import annotations

import regex

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, unpack

# A language code in lower case; base64 of a packed bag, whose first byte is its format, begins with A.
_STORED = regex.compile(r"([a-z]{2,3})(A[A-Za-z0-9+/]+={0,2})")


def read_stored_bag(text: str, embeddings: Embeddings) -> tuple[BagOfWords, str] | None:
    """The bag and its language; None for any other text.

    Term ids are checked: whoever may write to the index may have written anything.
    """
    match = _STORED.fullmatch(text)
    if match is None:
        return None
    try:
        bag = unpack(match[2])
    except BadInput:
        return None
    return (bag, match[1]) if bag.is_within(embeddings.n_terms) else None
