"""Encodes queries by the sentence encoder whose space an embedding store was mapped into.

Such a store (`sinkrank embeddings prepare`) holds word embeddings whose weighted mean over a text comes out near the
encoder's vector of that text. So the encoder reads only the query, which has a few words, and the documents' nBOW
embeddings stand in for its vectors of them: their cosine costs nothing at ingest and a few milliseconds at search.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from reranker.base.errors import BadEmbeddings, SinkrankError
from reranker.embeddings.onnx_session import OnnxSession, Pooling

MODEL, TOKENIZER, MEAN = "query_encoder.onnx", "query_encoder.tokenizer.json", "query_encoder_mean.npy"
"""Its files in the folder of the store."""

MAX_QUERY_TOKENS = 64
"""It bounds the time: some 15 ms. The words of a longer query say enough by themselves."""

# More than `MAX_QUERY_TOKENS` have in any language.
_MAX_CHARACTERS = 2_000
_MAX_KEPT = 1_024  # 1.5 kB each, and the text
_MAX_THREADS = 4

Vector = NDArray[np.float32]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryModel:
    """What `meta.json` says of the encoder.

    Attributes:
        name: for people.
        language: of the queries that it reads.
        query_prefix: what its authors put before a query.
    """

    name: str
    pooling: Pooling
    language: str
    query_prefix: str = ""
    max_tokens: int = MAX_QUERY_TOKENS

    @classmethod
    def from_meta(cls, said: Any) -> QueryModel:
        """Raises BadEmbeddings where it is not what `meta` gives."""
        try:
            model = cls(**said)
        except TypeError:
            model = None
        if model is None or not model._is_proper:
            raise BadEmbeddings("meta.json has no proper query_encoder; import or train the embeddings again")
        return model

    @property
    def _is_proper(self) -> bool:
        texts = (self.name, self.language, self.query_prefix)
        return all(isinstance(text, str) for text in texts) and bool(self.name) and self.pooling in ("mean", "cls")

    def meta(self) -> Mapping[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class QueryEncoderFiles:
    """What a store keeps of an encoder.

    Attributes:
        onnx, tokenizer: the model and its `tokenizer.json`.
        mean: (dim,) of the encoder's vectors of passages, which is taken off those of queries.
    """

    model: QueryModel
    onnx: bytes
    tokenizer: bytes
    mean: Vector


class QueryEncoding:
    """The vector of one query; it is computed once, by `start` in another thread or by the first `vector`."""

    def __init__(self, encoder: QueryEncoder, text: str) -> None:
        self._encoder = encoder
        self._text = text
        self._future: Future[Vector | None] | None = None

    def start(self) -> None:
        """Begins, for a caller who has other work until the vector is needed."""
        if self._future is None:
            self._future = self._encoder.begin(self._text)

    def vector(self) -> Vector | None:
        """(dim,) of length 1, less the encoder's mean; None where the encoder cannot be used, which is logged."""
        self.start()
        assert self._future is not None  # noqa: S101 - start sets it
        return self._future.result()


class QueryEncoder:
    """Encodes queries in threads of its own; safe to share between threads, and to use after a fork.

    Args:
        load: opens the model; called once in each process, at the first query.
        mean: (dim,) as of `QueryEncoderFiles`.
    """

    def __init__(self, model: QueryModel, mean: Vector, load: Callable[[], OnnxSession]) -> None:
        self.model = model
        self._mean = mean
        self._load = load
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._kept: LRUCache[str, Future[Vector | None]] = LRUCache(_MAX_KEPT)
        self._pool: ThreadPoolExecutor | None = None
        self._session: OnnxSession | None = None
        self._process = 0
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why the model cannot be loaded; empty where it was, or nobody has tried."""
        return self._problem

    def load(self) -> None:
        """Loads the model now; `problem` says how it went."""
        self._opened()

    @classmethod
    def open(cls, folder: Path, said: Any, dim: int) -> QueryEncoder:
        """The encoder of a store; its model is loaded with the first query.

        Args:
            said: what `meta.json` says of it.

        Raises:
            BadEmbeddings: that is not what it should be, or its mean does not have as many dimensions as the store.
        """
        model = QueryModel.from_meta(said)
        try:
            mean = np.load(folder / MEAN, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise BadEmbeddings(f"{folder / MEAN} cannot be read ({error}); make the embeddings again") from error
        if mean.shape != (dim,):
            raise BadEmbeddings(f"{folder / MEAN} has the shape {mean.shape}, not ({dim},); make the embeddings again")

        def load() -> OnnxSession:
            return OnnxSession(model, folder / MODEL, (folder / TOKENIZER).read_bytes())

        return cls(model, mean.astype(np.float32), load)

    def query(self, text: str, language: str) -> QueryEncoding | None:
        """The encoding of a query, not begun; None in a language that the encoder does not read, and where its model
        cannot be loaded."""
        return None if self._problem or language != self.model.language else QueryEncoding(self, text)

    def begin(self, text: str) -> Future[Vector | None]:
        """Encodes a query in another thread, or finds it among the last ones."""
        text = text[:_MAX_CHARACTERS]
        with self._lock:
            self._after_fork()
            found = self._kept.get(text)
            if found is None:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(
                        min(_MAX_THREADS, os.cpu_count() or 1), thread_name_prefix="sinkrank-query-encoder"
                    )
                found = self._kept[text] = self._pool.submit(self._encoded, text)
            return found

    def _after_fork(self) -> None:
        """Neither threads nor what they were about to compute are in a forked process."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._kept.clear()
            self._pool = self._session = None

    def _encoded(self, text: str) -> Vector | None:
        session = self._opened()
        if session is None:
            return None
        try:
            vector = session.vector(self.model.query_prefix + text) - self._mean
        except Exception as error:  # onnxruntime's errors share no base
            _log.warning("a query was not encoded, so %s does not count in its order: %s", self.model.name, error)
            with self._lock:
                self._kept.pop(text, None)  # the next search with it tries again
            return None
        norm = float(np.linalg.norm(vector))
        return (vector / norm).astype(np.float32) if np.isfinite(norm) and norm > 0 else None

    def _opened(self) -> OnnxSession | None:
        with self._opening:
            if self._session is None and not self._problem:
                try:
                    self._session = self._load()
                except (SinkrankError, OSError) as error:
                    self._problem = str(error)
                    _log.warning("no query is encoded, so %s counts in no order: %s", self.model.name, error)
            return self._session
