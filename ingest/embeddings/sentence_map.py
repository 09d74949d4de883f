"""Maps word embeddings into the space of a sentence encoder, so that texts have similar distances in both.

One linear map for all words is learned from passages: it should map the nBOW embedding of a passage near the encoder's
vector of that passage. So the map keeps the directions that carry the topic of a text, and shrinks the others.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.copying import append_store
from ingest.embeddings.summary import Summary
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings, EmbeddingsWriter, Precision
from reranker.embeddings.query_encoder import QueryEncoderFiles

# 0.1 to 1 give the same quality (docs/evaluation.md).
_RIDGE = 0.3


def sentence_map(means: NDArray[np.float32], encoded: NDArray[np.float32]) -> NDArray[np.float64]:
    """The map M that minimises ‖means · M − E‖² + 0.3 ‖M‖², where E is `encoded` minus its mean, with rows of length 1.

    The mean is removed because all vectors of a sentence encoder lie in a narrow cone around it.

    Args:
        means: (n, dim) nBOW embeddings of the passages, of length 1.
        encoded: (n, encoder_dim) the encoder's vectors of the same passages.

    Returns:
        (dim, encoder_dim).
    """
    centred = encoded.astype(np.float64) - encoded.mean(axis=0, dtype=np.float64)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    targets = centred / np.where(norms > 0, norms, 1)
    rows = means.astype(np.float64)
    squares = rows.T @ rows + _RIDGE * np.eye(rows.shape[1])
    found: NDArray[np.float64] = np.linalg.solve(squares, rows.T @ targets)
    return found


def map_store(
    embeddings: Embeddings,
    sentences: NDArray[np.float64],
    output: Path,
    *,
    source: object,
    replace: bool = False,
    precision: Precision = "float32",
    query_encoder: QueryEncoderFiles | None = None,
    progress: Progress = no_progress,
) -> Summary:
    """Writes the mapped embeddings with the same terms.

    Args:
        sentences: (dim, new dim), the result of `sentence_map`.
        source: where the embeddings come from, for `meta.json`.
        query_encoder: the encoder that the map was learned from.

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
        replace=replace,
        precision=precision,
        query_encoder=query_encoder,
    ) as writer:
        append_store(writer, embeddings, lambda rows: (rows @ sentences).astype(np.float32), counted=True)
        writer.commit(embeddings.meta["n_documents"])
    return Summary.of(Embeddings.open(output), started)
