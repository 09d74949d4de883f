"""Splits a stream of rows into pieces for processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.files import Row

# So large that sending a piece to a process costs little compared with the work on it.
_MAX_ROWS = 250
_MAX_BYTES = 2_000_000


def in_pieces(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in lists of at most 250 and about 2 MB."""
    piece: list[Row] = []
    n_bytes = 0
    for row in rows:
        piece.append(row)
        n_bytes += len(row.raw)
        if len(piece) >= _MAX_ROWS or n_bytes >= _MAX_BYTES:
            yield piece
            piece, n_bytes = [], 0
    if piece:
        yield piece
