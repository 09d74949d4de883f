"""Encodes queries with a sentence encoder, for an embedding store that was mapped into the space of one.

Such a store (`sinkrank embeddings prepare`) holds word embeddings whose weighted mean over a text comes out near the
encoder's vector of that text. So the encoder reads only the query, which has a few words, and the documents' nBOW
embeddings stand in for its vectors of them: their cosine costs nothing at ingest and a few milliseconds at search.

A store may have several encoders, each for other languages. The vectors of those that the store was not mapped into are
mapped into its space.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from io import BytesIO
from os.path import samestat
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from reranker.base.cores import n_cores
from reranker.base.errors import BadEmbeddings, SinkrankError
from reranker.embeddings.onnx_session import OnnxSession

MODEL, TOKENIZER, MEANS, MAP = "encoder.onnx", "encoder.tokenizer.json", "encoder_means.npy", "encoder_map.npy"
"""Ends of the names of its files in the folder of the store, after the model's name and a hyphen."""

MAX_QUERY_TOKENS = 64
"""It bounds the time: some 15 ms. The words of a longer query say enough by themselves."""

# More than `MAX_QUERY_TOKENS` have in any language.
_MAX_CHARACTERS = 2_000
_MAX_CACHED = 1_024  # 1.5 kB each, and the text
_MAX_THREADS = 4

Vector = NDArray[np.float32]

QueryEncoding = Callable[[], Future[Vector | None]]
"""The first call begins to encode a query, in another thread. The vector has length 1 and is in the space of the store;
None: the encoder cannot be used, which is logged."""

_log = logging.getLogger(__name__)

_encoders: WeakSet[QueryEncoder] = WeakSet()

# Held while a model is loaded. A fork waits for it: a package that is half imported at a fork never is in the child.
_loading = threading.RLock()


def _after_fork() -> None:
    _loading.release()
    for encoder in _encoders:
        encoder.reset()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_after_fork)


@dataclass(frozen=True, slots=True)
class QueryModel:
    """What `meta.json` says of the encoder.

    Attributes:
        name: of its files, and for people.
        languages: of the queries that it reads.
        query_prefix: what its authors put before a query.
        is_mapped: whether its vectors are mapped into the space of the store.
    """

    name: str
    languages: Sequence[str]
    is_mapped: bool = False
    query_prefix: str = ""

    @classmethod
    def from_meta(cls, entry: Mapping[str, Any]) -> QueryModel:
        """Reads the result of `meta`; other keys are ignored."""
        return cls(**{one.name: entry[one.name] for one in fields(cls) if one.name in entry})

    def file(self, end: str) -> str:
        """The name of one of its files, such as `MODEL`."""
        return f"{self.name}-{end}"

    def meta(self) -> Mapping[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class QueryEncoderFiles:
    """What a store keeps of an encoder.

    Attributes:
        onnx, tokenizer: the model and its `tokenizer.json`.
        means: (n_languages, encoder_dim), the mean of the encoder's vectors of texts in each language of the model. It
            is subtracted from those of queries.
        map: (encoder_dim, dim) into the space of the store; None: the store was mapped into the encoder's space.
    """

    model: QueryModel
    onnx: bytes
    tokenizer: bytes
    means: NDArray[np.float32]
    map: NDArray[np.float32] | None = None

    @classmethod
    def read(cls, folder: Path, model: QueryModel) -> QueryEncoderFiles:
        """The files of an encoder of the store in a folder.

        Raises:
            OSError: a file cannot be read.
            BadEmbeddings: a file of numbers cannot be read.
        """
        return cls(
            model,
            (folder / model.file(MODEL)).read_bytes(),
            (folder / model.file(TOKENIZER)).read_bytes(),
            _numbers(folder / model.file(MEANS)),
            _numbers(folder / model.file(MAP)) if model.is_mapped else None,
        )

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The files by their names."""
        yield self.model.file(MODEL), self.onnx
        yield self.model.file(TOKENIZER), self.tokenizer
        for end, values in ((MEANS, self.means), (MAP, self.map)):
            if values is not None:
                content = BytesIO()
                np.save(content, values.astype(np.float32), allow_pickle=False)
                yield self.model.file(end), content.getvalue()


class QueryEncoder:
    """Encodes queries in threads of its own; safe to share between threads, and to use after a fork.

    Args:
        load: opens the model; called once in each process, at the first query.
        means, map: as of `QueryEncoderFiles`.

    Attributes:
        problem: why the model cannot be loaded; empty where it was, or nobody has tried.
    """

    def __init__(
        self,
        model: QueryModel,
        means: NDArray[np.float32],
        load: Callable[[], OnnxSession],
        map: NDArray[np.float32] | None = None,
    ) -> None:
        self.model = model
        self._means, self._map = dict(zip(model.languages, means, strict=True)), map
        self._load = load
        self.problem = ""
        self.reset()
        _encoders.add(self)

    def reset(self) -> None:
        """Also after a fork: neither the threads of the parent nor what they were about to compute are in the child,
        and what they locked stays locked there."""
        self._lock = threading.Lock()
        self._cached: LRUCache[tuple[str, str], Future[Vector | None]] = LRUCache(_MAX_CACHED)
        self._pool: ThreadPoolExecutor | None = None
        self._session: OnnxSession | None = None

    def load(self) -> None:
        """Loads the model now; `problem` says how it went."""
        self._opened()

    @classmethod
    def open(cls, folder: Path, entry: Any, dim: int) -> QueryEncoder:
        """An encoder of a store; its model is loaded with the first query.

        Args:
            entry: its entry in `meta.json`.

        Raises:
            BadEmbeddings: a file cannot be read, or its vectors do not have as many dimensions as the store.
        """
        model = QueryModel.from_meta(entry)
        means = _numbers(folder / model.file(MEANS))
        map = _numbers(folder / model.file(MAP)) if model.is_mapped else None
        encoder_dim = dim if map is None else len(map)
        shapes = [means.shape, *([] if map is None else [map.shape])]
        if shapes != [(len(model.languages), encoder_dim), *([] if map is None else [(encoder_dim, dim)])]:
            raise BadEmbeddings(
                f"the numbers of the encoder {model.name} in {folder} have the shapes {shapes}, but the store has "
                f"{dim} dimensions; make the embeddings again"
            )

        # Mapped now: a process that is forked later loads the same files, though others stand at their paths by then.
        path = folder / model.file(MODEL)
        onnx, tokenizer = (np.memmap(file, np.uint8, "r") for file in (path, folder / model.file(TOKENIZER)))
        opened = path.stat()

        def load() -> OnnxSession:
            # By its path it takes less memory.
            is_there = path.exists() and samestat(path.stat(), opened)
            return OnnxSession(model.name, path if is_there else onnx.tobytes(), tokenizer.tobytes(), MAX_QUERY_TOKENS)

        return cls(model, means, load, map)

    def query(self, text: str, language: str) -> QueryEncoding | None:
        """The encoding of a query, not begun; None in a language that the encoder does not read, and where its model
        cannot be loaded."""
        is_read = not self.problem and language in self.model.languages
        return cache(partial(self.begin, text, language)) if is_read else None

    def begin(self, text: str, language: str) -> Future[Vector | None]:
        """Encodes a query in another thread, or finds it among the last ones.

        Args:
            language: one of the model's.
        """
        key = language, text[:_MAX_CHARACTERS]
        with self._lock:
            found = self._cached.get(key)
            if found is None:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(
                        min(_MAX_THREADS, n_cores()), thread_name_prefix="sinkrank-query-encoder"
                    )
                found = self._cached[key] = self._pool.submit(self._encoded, *key)
            return found

    def _encoded(self, language: str, text: str) -> Vector | None:
        session = self._opened()
        if session is None:
            return None
        try:
            vector = session.vector(self.model.query_prefix + text) - self._means[language]
            if self._map is not None:
                vector = vector @ self._map
        except Exception as error:  # onnxruntime's errors share no base
            _log.warning("a query was not encoded, so %s does not count in its order: %s", self.model.name, error)
            with self._lock:
                self._cached.pop((language, text), None)  # the next search with it tries again
            return None
        norm = float(np.linalg.norm(vector))
        return (vector / norm).astype(np.float32) if np.isfinite(norm) and norm > 0 else None

    def _opened(self) -> OnnxSession | None:
        if self._session is None and not self.problem:  # else it would wait for another encoder
            with _loading:
                if self._session is None and not self.problem:
                    try:
                        self._session = self._load()
                    except (SinkrankError, OSError) as error:
                        self.problem = str(error)
                        _log.warning("no query is encoded, so %s counts in no order: %s", self.model.name, error)
        return self._session


def _numbers(path: Path) -> NDArray[np.float32]:
    try:
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)
    except (OSError, ValueError) as error:
        raise BadEmbeddings(f"{path} cannot be read ({error}); make the embeddings again") from error
