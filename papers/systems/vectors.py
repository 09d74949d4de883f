"""Caches the vectors of texts in one SQLite file, with the CPU times of their encoding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.vector_file import VectorFile

_CREATE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, seconds REAL NOT NULL)"


Vector = NDArray[np.float32]


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

    def encoded(
        self, kind: str, texts: Iterable[str], encode: Callable[[str], Vector], report: Callable[[int], None]
    ) -> tuple[list[Vector], float]:
        """Returns the vectors (dim,) float32 of texts, and the CPU time (s) of their encoding, now or earlier.

        Args:
            kind: a query and a passage with the same words have different vectors.
            report: called with the place of each text before it is encoded.
        """
        vectors, seconds = [], 0.0
        for place, text in enumerate(texts):
            report(place)
            vector, taken = self._get(kind, text, encode)
            vectors.append(vector)
            seconds += taken
        return vectors, seconds

    def _get(self, kind: str, text: str, encode: Callable[[str], Vector]) -> tuple[Vector, float]:
        key = hashlib.blake2b("\0".join((self._version, kind, text)).encode(), digest_size=16).digest()
        row = self._connection.execute("SELECT vector, seconds FROM vectors WHERE key = ?", (key,)).fetchone()
        if row is not None:
            return np.frombuffer(row[0], dtype="<f4"), float(row[1])
        start = process_time()
        vector = np.asarray(encode(text), dtype="<f4")
        seconds = process_time() - start
        self._connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (key, vector.tobytes(), seconds))
        return vector, seconds
