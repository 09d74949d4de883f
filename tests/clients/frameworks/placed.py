"""Texts, and vectors whose order is another than that of their words: it shows which of the two a search went by."""

from __future__ import annotations

from tests.support.tiny import POSITIONS

TEXTS = ["any bread", "any car", "any water", "any dog", "any cat"]
QUERY = "any chat"
# Cosines of the words with "chat": cat 0.96, dog 0.936, car -0.28, water -0.352, bread -0.96.
BY_WORDS = ["any cat", "any dog", "any car", "any water", "any bread"]
# Those of the vectors are the same with the other sign.
BY_VECTORS = BY_WORDS[::-1]

_PLACES = {word: place for places in POSITIONS.values() for word, place in places.items()}


def vector(text: str) -> list[float]:
    """Of the last word of a text: where it lies, on the other side for a text that is searched."""
    x, y = _PLACES[text.split()[-1]]
    return [-x, -y] if text in TEXTS else [x, y]
