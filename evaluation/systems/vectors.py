"""Keeps the vectors of texts that are slow to encode in one SQLite file, each with the time that it cost."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.errors import BadInput

_CREATE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, seconds REAL NOT NULL)"

# Two commands that encode at the same time wait for each other's single rows, never for a whole run.
_TIMEOUT_S = 60


class TimedVector(NamedTuple):
    """(dim,) float32, and the CPU time (s) that it took to encode, now or when it was first needed."""

    vector: NDArray[np.float32]
    seconds: float


class VectorCache:
    """Vectors by encoder and text; a row is written as soon as it is there, so that a run that broke off goes on.

    Use it in a `with` statement, which closes the file.

    Args:
        path: the file; it is made, with its folder, where it is missing.
        version: what changes with the vectors: the encoder's name, its release, how the texts are cut.

    Raises:
        BadInput: the file holds something else.
    """

    def __init__(self, path: Path, version: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._version = version
        self._connection = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            self._connection.execute(_CREATE)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise BadInput(
                f"{path} cannot hold encoded texts ({error}); delete it, and they are encoded anew"
            ) from error

    def __enter__(self) -> VectorCache:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, kind: str, text: str, encode: Callable[[str], NDArray[np.float32]]) -> TimedVector:
        """The vector of a text of a kind (a query and a passage of the same words have different ones)."""
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
