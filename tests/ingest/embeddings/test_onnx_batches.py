"""Words encoded in batches by an ONNX model."""

from __future__ import annotations

import numpy as np
import pytest

from ingest.embeddings import onnx_batches
from reranker.embeddings.onnx_session import OnnxSession
from tests.support.onnx_model import embedding_model, tokenizer

pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
pytest.importorskip("tokenizers", reason="needs pip install 'sinkrank[prepare]'")

# Letters are tokens, so that words differ in length.
LETTERS = "abcdefgh"
TOKENIZER = tokenizer(
    "?" + LETTERS, {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
)
# The row of padding is large: it would show in a mean that counts it.
ROWS = [(99.0, -99.0), *((float(n), 1.0) for n in range(len(LETTERS)))]


def session() -> OnnxSession:
    return OnnxSession("tiny", embedding_model(ROWS), TOKENIZER, max_tokens=8)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_words_of_any_length_get_the_vectors_that_they_have_alone(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_batches, "_BATCH_TEXTS", 3)
    words = ["h", "abab", "c", "abcdefgh", "aa", "ah", "b"]
    # The mean of the letters' rows: (mean of the letter numbers, 1), at length 1.
    expected = [np.array([np.mean([LETTERS.index(letter) for letter in word]), 1.0]) for word in words]
    found = onnx_batches.batched(session(), words, n_threads)
    assert found == pytest.approx(np.array([row / np.linalg.norm(row) for row in expected]), abs=1e-6)
