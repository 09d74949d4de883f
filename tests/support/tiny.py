"""A five-word vocabulary in two languages with two-dimensional embeddings placed by hand: the fixture for everything.

Each French word lies at cosine 0.96 from its English translation, on the unit circle at a point with two decimals, so
that costs can be worked out on paper: cost = sqrt(2 - 2 · cosine), which between translations is sqrt(0.08).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.query_encoder import QueryEncoderFiles

POSITIONS: dict[str, dict[str, tuple[float, float]]] = {
    "en": {
        "cat": (1.0, 0.0),
        "dog": (0.8, 0.6),
        "water": (-0.6, 0.8),
        "bread": (-1.0, 0.0),
        "car": (0.0, -1.0),
    },
    "fr": {
        "chat": (0.96, 0.28),
        "chien": (0.6, 0.8),
        "eau": (-0.8, 0.6),
        "pain": (-0.96, -0.28),
        "voiture": (0.28, -0.96),
    },
}

TRANSLATION_COST = sqrt(2 - 2 * 0.96)
"""The cost between any word and its translation: 0.282843."""

TRANSLATION_DISTANCE = 1 - 0.96
"""By `auto`, whose parts all go by the cosine, the distance between texts of one word and of its translation."""


def tiny_embeddings(path: Path, query_encoders: Sequence[QueryEncoderFiles] = ()) -> Embeddings:
    """Writes the vocabulary to a store at `path`, which must not exist yet, and opens it.

    Term ids: en cat 0, dog 1, water 2, bread 3, car 4; fr chat 5, chien 6, eau 7, pain 8, voiture 9. There are no
    document frequencies, so `embeddings.idf` is empty and weights are tf alone.
    """
    return write_embeddings(path, POSITIONS, query_encoders=query_encoders)


def write_embeddings(path: Path, positions: Mapping[str, Mapping[str, Sequence[float]]], **options: Any) -> Embeddings:
    """A store of words with their positions, by language.

    Args:
        options: of `EmbeddingsWriter`.
    """
    dim = len(next(iter(next(iter(positions.values())).values())))
    with EmbeddingsWriter(path, dim=dim, source="tests", **options) as writer:
        for language, words in positions.items():
            writer.append(language, list(words), np.array(list(words.values()), dtype=float))
        writer.commit()
    return Embeddings.open(path)


def write_words(path: Path, words: Mapping[str, Iterable[str]]) -> Embeddings:
    """A store of words by language, all at one place."""
    return write_embeddings(path, {language: dict.fromkeys(terms, (1, 1)) for language, terms in words.items()})
