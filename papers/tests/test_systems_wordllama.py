"""wordllama's encoder on a vocabulary of three words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from papers.systems.wordllama import WordLlama, matrix
from reranker.base.errors import BadInput
from tests.support.onnx_model import tokenizer

VECTORS = np.array([[0, 0], [3, 0], [0, 4]], dtype=np.float32)


def safetensors(name: str, values: np.ndarray, dtype: str = "F16") -> bytes:
    """One matrix behind 4 bytes of another."""
    numbers = values.astype("<f2").tobytes()
    entry = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [4, 4 + len(numbers)]}
    header = json.dumps({"other": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}, name: entry}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4) + numbers


def test_a_text_is_the_mean_of_its_tokens_at_length_1() -> None:
    pytest.importorskip("tokenizers", reason="needs pip install 'sinkrank[prepare]'")
    encoder = WordLlama(VECTORS, tokenizer(["[UNK]", "cat", "dog"], {"type": "Whitespace"}))
    # (3, 0) and (0, 4): the mean (1.5, 2) has length 2.5.
    assert encoder.document("cat dog") == pytest.approx([0.6, 0.8])
    assert encoder.query("dog") == pytest.approx([0.0, 1.0])
    assert encoder.document("") == pytest.approx([0.0, 0.0])


def test_a_matrix_is_read_by_its_name() -> None:
    assert matrix(safetensors("embedding.weight", VECTORS), "embedding.weight").tolist() == VECTORS.tolist()


@pytest.mark.parametrize("content", [safetensors("x", VECTORS), safetensors("embedding.weight", VECTORS, "F32")])
def test_a_file_without_the_matrix_is_refused(content: bytes) -> None:
    with pytest.raises(BadInput, match=r"no half-precision matrix 'embedding\.weight'"):
        matrix(content, "embedding.weight")
