"""Words encoded in batches by an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings import onnx_batches
from ingest.embeddings.word_encoder import Encoder, WordVectors
from reranker.embeddings.onnx_session import OnnxSession
from reranker.embeddings.query_encoder import QueryModel
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
MODEL = QueryModel("tiny", "mean", ["en"], max_tokens=8)


def session() -> OnnxSession:
    return OnnxSession(MODEL, embedding_model(ROWS), TOKENIZER)


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


def test_a_batch_is_padded_to_at_most_so_many_tokens_and_a_longer_text_is_one_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onnx_batches, "_BATCH_TEXTS", 4)
    sizes: list[tuple[int, int]] = []
    model = session()
    encoded = model.encoded

    def observed(token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        sizes.append((len(token_ids), max(map(len, token_ids))))
        return encoded(token_ids)

    monkeypatch.setattr(model, "encoded", observed)
    monkeypatch.setattr(onnx_batches, "_BATCH_TOKENS", 7)
    onnx_batches.batched(model, ["a", "b", "c", "d", "e", "abc", "abc", "abc", "abcdefgh"])
    # Four words; two texts of three tokens are 6 tokens, three would be 9; the last has more than 7 alone.
    assert sizes == [(4, 1), (2, 3), (2, 3), (1, 8)]


def test_encoded_words_are_kept_under_the_name_of_the_model(tmp_path: Path) -> None:
    encoder = Encoder("tiny", 2, partial(onnx_batches.batched, session()))
    with WordVectors(tmp_path / "words.sqlite3", encoder) as words:
        first = words.encode(["ab", "c", "ab"])
    forgetful = encoder._replace(encode=lambda words: pytest.fail(f"{words} were encoded again"))
    with WordVectors(tmp_path / "words.sqlite3", forgetful) as words:
        assert words.encode(["c", "ab"]) == pytest.approx(first[[1, 0]])
