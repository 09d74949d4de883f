"""Finds where the words of a document stand, so that an explanation can mark them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from reranker.embeddings import Embeddings
from reranker.text.documents import Document


@dataclass(frozen=True, slots=True)
class WordPlaces:
    """Start and end, in characters, of each place of a word, in reading order."""

    in_title: list[list[int]] = field(default_factory=list)
    in_text: list[list[int]] = field(default_factory=list)


def word_places(document: Document, embeddings: Embeddings) -> dict[int, WordPlaces]:
    """By term id: the places of the words that take the embedding of that term, or have it as a part.

    Only the words that are read of a text (`reranker.text.tokens.MAX_TOKENS`) have places.
    """
    read = embeddings.reader.read([document.full_text], [document.language], with_places=True)
    offsets, term_ids = read.terms()
    letters = np.frombuffer(read.texts.arrays[0], np.uint8)
    n_characters = np.cumsum(letters & 0xC0 != 0x80)  # up to each byte; others go on with a character
    tokens = read.tokens[: read.offsets[-1]]
    places = np.concatenate([[0], n_characters])[read.places[: len(tokens)]]
    text_start = len(document.full_text) - len(document.text)
    found: dict[int, WordPlaces] = defaultdict(WordPlaces)
    for word, (start, end) in zip(tokens.tolist(), places.tolist(), strict=True):
        for term_id in dict.fromkeys(term_ids[offsets[word] : offsets[word + 1]].tolist()):
            if start < text_start:
                found[term_id].in_title.append([start, end])
            else:
                found[term_id].in_text.append([start - text_start, end - text_start])
    return found
