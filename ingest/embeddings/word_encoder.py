"""Encodes single words with a sentence encoder, and caches the vectors in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.vector_file import VectorFile
from ingest.progress import Progress, no_progress

# Some seconds of work, which a stopped run can lose. With more texts, more of them have the same number of tokens.
BATCH = 1_024
_CREATE = (
    "CREATE TABLE IF NOT EXISTS words (encoder TEXT, word TEXT, vector BLOB NOT NULL, PRIMARY KEY (encoder, word))"
    " WITHOUT ROWID"
)
_SELECT = "SELECT vector FROM words WHERE encoder = ? AND word = ?"


class Encoder(NamedTuple):
    """A sentence encoder.

    Attributes:
        name: identifies the vectors: the package and its release.
        dim: dimensions of a vector.
        encode: turns n words into (n, dim) float32.
    """

    name: str
    dim: int
    encode: Callable[[list[str]], NDArray[np.float32]]


class WordVectors(VectorFile):
    """A cache of an encoder's vectors of words. Each batch is stored at once, so a stopped run can continue.

    Args:
        path: as in `VectorFile`. Several encoders may share it.

    Raises:
        BadInput: the file contains something else.
    """

    def __init__(self, path: Path, encoder: Encoder) -> None:
        super().__init__(path, _CREATE, "words")
        self._encoder = encoder

    @property
    def name(self) -> str:
        """The encoder's."""
        return self._encoder.name

    def encode(self, words: Sequence[str], progress: Progress = no_progress) -> NDArray[np.float32]:
        """(n_words, dim): the encoder's vector of each word."""
        vectors = np.zeros((len(words), self._encoder.dim), dtype=np.float32)
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            places.setdefault(word, []).append(place)
        missing = self._fill_known(vectors, places)
        done = len(places) - len(missing)
        for start in range(0, len(missing), BATCH):
            progress(done + start, len(places), "encoding words")
            batch = missing[start : start + BATCH]
            found = np.asarray(self._encoder.encode(batch), dtype="<f4")
            self._keep(batch, found)
            for word, vector in zip(batch, found, strict=True):
                vectors[places[word]] = vector
        progress(len(places), len(places), "encoded words")
        return vectors

    def _fill_known(self, vectors: NDArray[np.float32], places: dict[str, list[int]]) -> list[str]:
        """Copies the cached vectors, and returns the words without one."""
        missing: list[str] = []
        for word, at in places.items():
            row = self._connection.execute(_SELECT, (self._encoder.name, word)).fetchone()
            if row is None:
                missing.append(word)
            else:
                vectors[at] = np.frombuffer(row[0], dtype="<f4")
        return missing

    def _keep(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        rows = [(self._encoder.name, word, vector.tobytes()) for word, vector in zip(words, vectors, strict=True)]
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT OR REPLACE INTO words VALUES (?, ?, ?)", rows)
        self._connection.execute("COMMIT")
