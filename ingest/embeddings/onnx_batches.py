"""Encodes many words or passages with an ONNX model, in batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.onnx_session import OnnxSession

_BATCH_TEXTS = 64
# Larger batches do not fit the cache of the processor: 64 passages of 60 tokens take 1.4 times as long as four batches
# of 16.
_BATCH_TOKENS = 1_024


def batched(session: OnnxSession, texts: Sequence[str], n_threads: int = 1, prefix: str = "") -> NDArray[np.float32]:
    """(n_texts, dim): a vector of length 1 for each text.

    Args:
        n_threads: number of batches that are encoded at the same time. (onnxruntime's own threads share a batch, which
            takes twice the processor time on words.)
        prefix: put before each text.
    """
    token_ids = session.tokenized([prefix + text for text in texts])
    order = sorted(range(len(texts)), key=lambda place: len(token_ids[place]))
    batches = list(_batches(order, [len(ids) for ids in token_ids]))
    vectors: NDArray[np.float32] | None = None
    with ThreadPoolExecutor(n_threads) as pool:
        found = pool.map(lambda batch: session.encoded([token_ids[place] for place in batch]), batches)
        for batch, rows in zip(batches, found, strict=True):
            if vectors is None:
                vectors = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
            vectors[batch] = rows
    return np.empty((0, 0), np.float32) if vectors is None else vectors


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Splits places, ordered by length, into batches. A batch is padded to its longest text."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) == _BATCH_TEXTS or (len(batch) + 1) * lengths[place] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
