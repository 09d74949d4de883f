"""Caches the vectors of texts in one SQLite file, with the CPU times of their encoding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.sentence_encoder import VectorFile

_CREATE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, seconds REAL NOT NULL)"


class TimedVector(NamedTuple):
    """A vector (dim,) float32, and the CPU time (s) of its encoding, now or earlier."""

    vector: NDArray[np.float32]
    seconds: float


class VectorCache(VectorFile):
    """Vectors by encoder and text. Each row is written at once, so that an interrupted run can continue.

    Args:
        path: as in `VectorFile`.
        version: version of the vectors: the encoder's name, its release, how texts are cut.

    Raises:
        BadInput: the file has other contents.
    """

    def __init__(self, path: Path, version: str) -> None:
        super().__init__(path, _CREATE, "texts")
        self._version = version

    def get(self, kind: str, text: str, encode: Callable[[str], NDArray[np.float32]]) -> TimedVector:
        """Returns the vector of a text of a kind: a query and a passage with the same words have different vectors."""
        key = hashlib.blake2b("\0".join((self._version, kind, text)).encode(), digest_size=16).digest()
        row = self._connection.execute("SELECT vector, seconds FROM vectors WHERE key = ?", (key,)).fetchone()
        if row is not None:
            return TimedVector(np.frombuffer(row[0], dtype="<f4"), float(row[1]))
        start = process_time()
        vector = np.asarray(encode(text), dtype="<f4")
        found = TimedVector(vector, process_time() - start)
        self._connection.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (key, vector.tobytes(), found.seconds)
        )
        return found
