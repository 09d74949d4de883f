"""A sentence encoder of five words with vectors placed by hand, as an embedding store keeps it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.query_encoder import QueryEncoderFiles, QueryModel
from tests.evaluation.onnx_model import embedding_model
from tests.tiny import POSITIONS

WORDS = {"feline": (1.0, 0.0), "vessel": (0.0, 1.0), "loaf": (-1.0, 0.0), "cat": (0.8, 0.6), "animal": (0.6, 0.8)}
MEAN = (0.6, 0.0)
MODEL = QueryModel("tiny", "mean", "en")

_TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {word: n for n, word in enumerate(["?", *WORDS])}, "unk_token": "?"},
}


def encoder_files(onnx: bytes | None = None, model: QueryModel = MODEL) -> QueryEncoderFiles:
    """The files of the encoder; of another model where its bytes are given."""
    content = embedding_model([(9.0, 9.0), *WORDS.values()]) if onnx is None else onnx
    return QueryEncoderFiles(model, content, json.dumps(_TOKENIZER).encode(), np.array(MEAN, np.float32))


def encoding_embeddings(path: Path, files: QueryEncoderFiles | None = None) -> Embeddings:
    """The words of `tests.tiny` with this encoder in their store."""
    with EmbeddingsWriter(path, dim=2, source="tests", query_encoder=files or encoder_files()) as writer:
        for language, positions in POSITIONS.items():
            writer.append(language, list(positions), np.array(list(positions.values())))
        writer.commit()
    return Embeddings.open(path)
