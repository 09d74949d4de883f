"""wordllama as an encoder: the mean of a text's token embeddings, from the files in its package, which is fetched and
not installed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.fetching.packages import Package, fetched_package, open_member
from papers.systems.vectors import Vector
from reranker.base.errors import BadInput
from reranker.embeddings.onnx_session import imported

NAME = "wordllama"

_PACKAGE = Package(
    "PyPI",
    NAME,
    "0.4.0.post1",
    "42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97",
    platform="manylinux2014_x86_64",
    python="3.11",
)
_WEIGHTS, _MATRIX = "wordllama/weights/l2_supercat_256.safetensors", "embedding.weight"
_TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_MAX_BYTES = 20 << 20


class WordLlama:
    """Encodes a text as the mean of its tokens' embeddings, at length 1 (`WordLlama.embed(text, norm=True)`).

    Args:
        vectors: (n_tokens, dim) float32.
        tokenizer: `tokenizer.json` of the package tokenizers.

    Attributes:
        version: changes when the vectors change.
        file: name of the file that caches the vectors.

    Raises:
        NotFound: the package tokenizers is not installed.
    """

    version = f"{NAME} {_PACKAGE.version}"
    file = f"{NAME}.sqlite3"

    def __init__(self, vectors: NDArray[np.float32], tokenizer: bytes) -> None:
        self._vectors = vectors
        self._tokenizer = imported("tokenizers", NAME).Tokenizer.from_str(tokenizer.decode())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def document(self, text: str) -> Vector:
        """(dim,) of length 1; zeros for a text without a token."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        mean: NDArray[np.float32] = self._vectors[ids].sum(axis=0)
        length = np.linalg.norm(mean)
        return mean / length if length else mean

    query = document


def load_wordllama(folder: Path) -> WordLlama:
    """Loads the embeddings of 256 dimensions from the package in a folder, which is fetched if it is not there.

    Raises:
        FetchFailed: the package cannot be fetched, or is not the expected one.
        NotFound: the package tokenizers is not installed.
    """
    archive = fetched_package(_PACKAGE, folder)
    with open_member(archive, _WEIGHTS, _MAX_BYTES) as file:
        vectors = matrix(file.read(), _MATRIX)
    with open_member(archive, _TOKENIZER, _MAX_BYTES) as file:
        return WordLlama(vectors, file.read())


def matrix(content: bytes, name: str) -> NDArray[np.float32]:
    """A matrix of half-precision numbers in a safetensors file: the length of the header, the header in JSON, numbers.

    Raises:
        BadInput: the file has no such matrix.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    described = json.loads(content[8:start]).get(name, {})
    if described.get("dtype") != "F16":
        raise BadInput(f"the safetensors file has no half-precision matrix {name!r}")
    first, end = described["data_offsets"]
    numbers = np.frombuffer(content[start + first : start + end], dtype="<f2")
    return numbers.reshape(described["shape"]).astype(np.float32)
