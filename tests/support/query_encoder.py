"""A sentence encoder of five words with vectors placed by hand, as an embedding store keeps it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reranker.embeddings import Embeddings
from reranker.embeddings.query_encoder import QueryEncoderFiles, QueryModel
from tests.support.onnx_model import embedding_model, tokenizer
from tests.support.tiny import tiny_embeddings

WORDS = {"feline": (1.0, 0.0), "vessel": (0.0, 1.0), "loaf": (-1.0, 0.0), "cat": (0.8, 0.6), "animal": (0.6, 0.8)}
MEAN = (0.6, 0.0)
MODEL = QueryModel("tiny", ["en"])


def encoder_files(onnx: bytes | None = None, model: QueryModel = MODEL) -> QueryEncoderFiles:
    """The files of the encoder; of another model where its bytes are given."""
    content = embedding_model([(9.0, 9.0), *WORDS.values()]) if onnx is None else onnx
    return QueryEncoderFiles(
        model,
        content,
        tokenizer(["?", *WORDS], {"type": "Whitespace"}),
        np.array([MEAN] * len(model.languages), np.float32),
    )


def encoding_embeddings(path: Path, files: QueryEncoderFiles | None = None) -> Embeddings:
    """The words of `tests.support.tiny` with this encoder in their store."""
    return tiny_embeddings(path, [files or encoder_files()])
