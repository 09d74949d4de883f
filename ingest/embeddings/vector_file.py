"""A file that caches vectors. A fault of the file is an error with its cure."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Self

from reranker.base.errors import BadInput

# Two commands that encode at the same time wait for single writes of each other, not for a whole run.
_TIMEOUT_S = 60


class VectorFile:
    """An SQLite file with a table of vectors. Each vector is written at once. Use it in a `with` statement, which turns
    SQLite's errors in it into BadInput.

    Args:
        path: the file; created with its folder if missing.
        create: SQL statement that creates the table if it is missing.
        holds: what was encoded, for errors.

    Raises:
        BadInput: the file contains something else.
    """

    def __init__(self, path: Path, create: str, holds: str) -> None:
        self._path, self._holds = path, holds
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None)
        except sqlite3.Error as error:
            raise self._fault(error) from error
        try:
            # For new files. A vector of 384 numbers takes more than a third of a default page and wastes the rest.
            self._connection.execute("PRAGMA page_size = 32768")
            self._connection.execute(create)
        except sqlite3.Error as error:
            self._connection.close()
            raise self._fault(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self._connection.close()
        if isinstance(error, sqlite3.Error):
            raise self._fault(error) from error

    def _fault(self, error: sqlite3.Error) -> BadInput:
        return BadInput(
            f"{self._path} cannot store encoded {self._holds} ({error}); delete it, so that they are encoded again"
        )
