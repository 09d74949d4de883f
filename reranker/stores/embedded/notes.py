"""Reads and changes notes in the embedded store, in a transaction of the caller."""

from __future__ import annotations

import sqlite3

from reranker.stores.base.notes import NOTES_OF_AN_INDEX, Change, Kind
from reranker.stores.embedded.row_sums import check_row, row_sum


def read_note(connection: sqlite3.Connection, name: str, kind: Kind) -> bytes | None:
    """Returns a note; None if there is none.

    Raises:
        StoreDamaged: its row is damaged.
    """
    select = "SELECT content, row_sum FROM notes WHERE name = ? AND kind = ?"
    found = connection.execute(select, (name, kind)).fetchone()
    if found is None:
        return None
    content: bytes = found[0]
    check_row(found[1], "notes", f"{name}:{kind}", (), name, kind, blobs=(content,))
    return content


def change_note(connection: sqlite3.Connection, name: str, kind: Kind, change: Change) -> None:
    """See `reranker.stores.base.notes.NotesWriter`."""
    note = change(read_note(connection, name, kind))
    if note is None:
        connection.execute("DELETE FROM notes WHERE name = ? AND kind = ?", (name, kind))
    else:
        row = (name, kind, note, row_sum((), name, kind, blobs=(note,)))
        connection.execute("INSERT OR REPLACE INTO notes (name, kind, content, row_sum) VALUES (?, ?, ?, ?)", row)


def forget_notes(connection: sqlite3.Connection, name: str) -> None:
    """Deletes the notes of an index."""
    for kind in NOTES_OF_AN_INDEX:
        connection.execute("DELETE FROM notes WHERE name = ? AND kind = ?", (name, kind))
