"""Finds where the words of an explanation stand in the document's text, to shade them by the mass that came to them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from reranker.embeddings import Embeddings
from reranker.ranking.explanation import Explanation
from reranker.text.documents import Document
from reranker.text.token_places import token_places


def with_places(explained: Explanation, document: Document, embeddings: Embeddings) -> Explanation:
    """The explanation with its document, and each document word with the places where it stands in title and text.

    Words beyond those that are read of a text (`reranker.text.tokens.MAX_TOKENS`) are not among the places.
    """
    places = _places(document, embeddings)
    text_start = len(document.full_text) - len(document.text)
    words = []
    for word in explained.document_words:
        found = places.get(word.term_id, [])
        words.append(
            replace(
                word,
                in_title=tuple((start, end) for start, end in found if start < text_start),
                in_text=tuple((start - text_start, end - text_start) for start, end in found if start >= text_start),
            )
        )
    return replace(explained, document=document, document_words=tuple(words))


def _places(document: Document, embeddings: Embeddings) -> dict[int, list[tuple[int, int]]]:
    """Start and end in the full text of the tokens that take each term, in reading order."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for token, start, end in token_places(document.full_text, document.language):
        term_id = embeddings.stand_in(document.language, token)
        if term_id is not None:
            found[term_id].append((start, end))
    return found
