"""Maps word embeddings into the space of a sentence encoder, so that texts have similar distances in both.

One linear map for all words is learned from passages: it should map the nBOW embedding of a passage near the encoder's
vector of that passage. So the map keeps the directions that carry the topic of a text, and shrinks the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.copying import append_store
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.query_encoder import QueryEncoderFiles

# 0.1 to 1 give the same quality (papers/results/order.md).
_RIDGE = 0.3


def ridge(rows: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.float64]:
    """(dim, target_dim): the map M that minimises ‖rows · M − targets‖² + 0.3 ‖M‖², for rows (n, dim) of length 1."""
    exact = rows.astype(np.float64)
    squares = exact.T @ exact + _RIDGE * np.eye(exact.shape[1])
    return np.asarray(np.linalg.solve(squares, exact.T @ targets), dtype=np.float64)


def map_store(
    embeddings: Embeddings,
    sentences: NDArray[np.float64],
    output: Path,
    *,
    source: object,
    query_encoders: Sequence[QueryEncoderFiles] = (),
    progress: Progress = no_progress,
) -> EmbeddingsSummary:
    """Writes the mapped embeddings with the same terms.

    Args:
        sentences: (dim, new dim), the result of `ridge`.
        source: where the embeddings come from, for `meta.json`.
        query_encoders: the encoder that the map was learned from, and others.

    Raises:
        BadInput: the output exists.
        BadEmbeddings: a word is mapped to zero.
    """
    started = time.monotonic()
    progress(0, None, "writing the mapped embeddings")
    with EmbeddingsWriter(
        output,
        dim=sentences.shape[1],
        source=source,
        query_encoders=query_encoders,
    ) as writer:
        append_store(writer, embeddings, lambda rows: (rows @ sentences).astype(np.float32))
        writer.commit(embeddings.meta["n_documents"])
    return EmbeddingsSummary.of(Embeddings.open(output), started)
