"""Runs a sentence encoder that is an ONNX model: onnxruntime and the model's tokenizer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadInput
from reranker.base.extras import extra

PACKAGES = ("onnxruntime", "tokenizers")

# From 1.29 on onnxruntime sends telemetry, which it also keeps in a database in the home folder. It decides when it is
# imported. Who wants it sets the variable to 0.
_DISABLE_TELEMETRY = "ORT_DISABLE_TELEMETRY"
# onnxruntime writes its own lines, in colour, between those of a JSON log. What fails raises an error besides.
_FATAL = 4


class OnnxSession:
    """A model that is ready to encode; threads may share it.

    Args:
        name: of the model, for errors.
        content: the ONNX model, or its file; its first output is (n_texts, n_tokens, dim). A text's vector is the mean
            of those of its tokens.
        tokenizer: `tokenizer.json` of the package tokenizers.
        max_tokens: tokens that it reads of a text.
        n_threads: cores that one batch may use.

    Raises:
        MissingPackage: onnxruntime or tokenizers is not installed.
        BadInput: the model or the tokenizer cannot be read.
    """

    def __init__(self, name: str, content: bytes | Path, tokenizer: bytes, max_tokens: int, n_threads: int = 1) -> None:
        runtime, tokenizers = (imported(package, name) for package in PACKAGES)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.log_severity_level = _FATAL
        source = str(content) if isinstance(content, Path) else content
        try:
            self._session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer.decode())
        except Exception as error:  # both have errors of their own, which share no base
            raise BadInput(f"the model {name} cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._inputs = [each.name for each in self._session.get_inputs()]

    def tokenized(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, markers included."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]

    def vector(self, text: str) -> NDArray[np.float32]:
        """(dim,) of one text."""
        # A batch, also of one, is tokenized in threads, which a process that is forked meanwhile would wait for.
        found: NDArray[np.float32] = self.encoded([self._tokenizer.encode(text).ids])[0]
        return found

    def encoded(self, token_ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """(n_texts, dim): a vector of length 1 for each text.

        Texts of similar length are the fastest, since short ones are padded. Padding changes no vector, unless the
        model rounds by the whole batch, as one of `quantize_dynamic` does.
        """
        lengths = np.array([len(ids) for ids in token_ids])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        ids = np.zeros_like(mask)
        ids[mask > 0] = np.concatenate([np.asarray(one, dtype=np.int64) for one in token_ids])
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        tokens = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        pooled = np.einsum("ijk,ij->ik", tokens, mask / lengths[:, None])
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.asarray(pooled / np.where(norms > 0, norms, 1), dtype=np.float32)


def imported(package: str, name: str) -> Any:
    """A package that an encoder needs.

    Raises:
        MissingPackage: it is not installed.
    """
    os.environ.setdefault(_DISABLE_TELEMETRY, "1")
    with extra("prepare", name):
        return import_module(package)
