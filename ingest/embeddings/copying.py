"""Copies the terms of an embedding store into the writer of another, block by block."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings, EmbeddingsWriter

_BLOCK_ROWS = 16_384

Change = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Turns rows (n, dim) into rows (n, new dim)."""


def append_store(writer: EmbeddingsWriter, embeddings: Embeddings, change: Change | None = None) -> None:
    """Adds all terms in order to an empty writer, so that they keep their term ids and document frequencies.

    Args:
        change: function applied to the vectors; None: unchanged.
    """
    frequencies = embeddings.document_frequencies
    for start in range(0, embeddings.n_terms, _BLOCK_ROWS):
        end = min(start + _BLOCK_ROWS, embeddings.n_terms)
        places = embeddings.vocabulary.places[start:end]
        rows = embeddings.vectors[start:end]
        changed = rows if change is None else change(rows)
        # Runs of one language, so that the terms stay in order.
        edges = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), end - start]
        for first, last in pairwise(edges):
            terms = [embeddings.term(term_id)[1] for term_id in range(start + first, start + last)]
            part = None if frequencies is None else frequencies[start + first : start + last]
            writer.append(embeddings.languages[places[first]], terms, changed[first:last], part)
