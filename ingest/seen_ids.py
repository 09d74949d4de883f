"""Finds the rows whose id occurred before in the same input."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reranker.base.errors import SinkrankError


class SeenIds:
    """The ids of the rows so far, as hashes of 8 bytes, in a temporary file of SQLite: an input may have 10⁸ rows."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("")
        self._connection.execute("CREATE TABLE ids (hash INTEGER PRIMARY KEY, row INTEGER NOT NULL)")

    def are_first(self, hashes: Sequence[int], first_row: int) -> list[bool]:
        """Whether each id of consecutive rows occurs here for the first time. The answer for a row is the same when the
        input is read again.

        Args:
            hashes: hashes of the ids (`reranker.text.documents.id_hash`), 0 for a row without one.
            first_row: number of the first row, from 0.

        Raises:
            SinkrankError: the temporary folder is full.
        """
        given = [(hashed, row) for row, hashed in enumerate(hashes, start=first_row) if hashed]
        try:
            self._connection.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?)", given)
            self._connection.commit()
        except sqlite3.OperationalError as error:
            raise SinkrankError(
                f"the temporary folder does not hold the ids of the input ({error}); free some space there, or name "
                "another with the variable TMPDIR, and give the same command again"
            ) from error
        look_up = self._connection.execute
        return [
            not hashed or look_up("SELECT row FROM ids WHERE hash = ?", (hashed,)).fetchone()[0] == row
            for row, hashed in enumerate(hashes, start=first_row)
        ]
