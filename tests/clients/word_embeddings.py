"""Embeddings of given words at places drawn by chance: with them every search for such words is re-ranked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reranker.embeddings import Embeddings, EmbeddingsWriter

_DIM = 8


def word_embeddings(path: Path, words: list[str]) -> Embeddings:
    """Writes the words as English ones to a store at `path`, which must not exist yet, and opens it."""
    places = np.random.default_rng(5).normal(size=(len(words), _DIM))
    with EmbeddingsWriter(path, dim=_DIM, source="tests.clients") as writer:
        writer.append("en", words, places)
        writer.commit()
    return Embeddings.open(path)
