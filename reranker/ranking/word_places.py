"""Finds where the words of a document stand, so that an explanation can mark them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from reranker.embeddings import Embeddings
from reranker.embeddings.placed_words import PlacedWords
from reranker.text.documents import Document
from reranker.text.tokens import MAX_TOKENS


@dataclass(frozen=True, slots=True)
class WordPlaces:
    """Start and end, in characters, of each place of a word, in reading order."""

    in_title: list[list[int]] = field(default_factory=list)
    in_text: list[list[int]] = field(default_factory=list)


def word_places(document: Document, embeddings: Embeddings) -> dict[int, WordPlaces]:
    """By term id: the places of the words that take the embedding of that term, or have it as a part.

    Only the words that are read of a text (`reranker.text.tokens.MAX_TOKENS`) have places.
    """
    words = PlacedWords([document.full_text], [document.language], MAX_TOKENS, embeddings)
    text_start = len(document.full_text) - len(document.text)
    found: dict[int, WordPlaces] = defaultdict(WordPlaces)
    for word, (start, end) in zip(words.tokens.tolist(), words.places(0, np.arange(len(words.tokens))), strict=True):
        for term_id in words.terms(word):
            if start < text_start:
                found[term_id].in_title.append([start, end])
            else:
                found[term_id].in_text.append([start - text_start, end - text_start])
    return found
