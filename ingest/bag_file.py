"""Stores the words that counting found in each row in a file, so that no text is tokenised twice.

Each piece of rows is stored as its number of rows, the length of its block (both uint32, little-endian), and a zlib
block: the length of each row's words (uint32), then the concatenated words. If the disk is full, the rows that are
missing in the file are tokenised again.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from reranker.text.bags import BagOfWords, pack, unpack

# Outside of the block, so that blocks can be skipped.
_HEADER = struct.Struct("<II")
# Base64 of numbers: a higher level takes longer and gains little.
_LEVEL = 1


def pack_words(bag: BagOfWords, first_words: str) -> bytes:
    """Packs the bag of a document and its first words (`hubness.pack_first_words`); never empty."""
    return f"{pack(bag)} {first_words}".encode("ascii")


def unpack_words(words: bytes) -> tuple[BagOfWords, str]:
    """The inverse of `pack_words`."""
    packed, _, first_words = words.decode("ascii").partition(" ")
    return unpack(packed), first_words


class BagFile:
    """The words of the rows of one input, in order.

    Args:
        path: the file; None uses a temporary file, deleted with the object.
        n_bytes: length that an earlier run confirmed with `sync`; the rest is cut off. None if that run failed to
            write.
    """

    def __init__(self, path: Path | None, n_bytes: int | None = 0) -> None:
        self._path = path
        self._n_bytes = n_bytes or 0
        self._file: BinaryIO | None = None
        # If rows are missing, none can be added after them.
        self._has_failed = n_bytes is None or (
            path is not None and n_bytes > 0 and not (path.exists() and path.stat().st_size >= n_bytes)
        )

    def add(self, words: Sequence[bytes]) -> None:
        """Adds the words of the rows of a piece, empty for rows without."""
        if self._has_failed:
            return
        lengths = struct.pack(f"<{len(words)}I", *map(len, words))
        frame = zlib.compress(lengths + b"".join(words), _LEVEL)
        try:
            self._opened().write(_HEADER.pack(len(words), len(frame)) + frame)
        except OSError:
            self._fail()
        else:
            self._n_bytes += _HEADER.size + len(frame)

    def sync(self) -> int | None:
        """Syncs the file to the disk. Returns its number of bytes, or None if writing failed."""
        try:
            if self._file is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError:
            self._fail()
        return None if self._has_failed else self._n_bytes

    def read(self, first_row: int) -> Iterator[bytes]:
        """The words of the rows from `first_row` on; ends early if later rows are not stored."""
        if not self.sync():
            return
        file = self._opened()
        row = place = 0
        while place < self._n_bytes:
            try:
                file.seek(place)
                n_rows, length = _HEADER.unpack(file.read(_HEADER.size))
                words = _of_frame(zlib.decompress(file.read(length)), n_rows) if row + n_rows > first_row else []
            except (OSError, struct.error, zlib.error):
                return  # damaged: the rest is tokenised again
            yield from words[max(0, first_row - row) :]
            row, place = row + n_rows, place + _HEADER.size + length

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def delete(self) -> None:
        """Deletes all words; the object can be used again."""
        self.close()
        self._n_bytes, self._has_failed = 0, False
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            if self._path is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
            else:
                self._file = self._path.open("r+b" if self._n_bytes else "w+b")
            self._file.truncate(self._n_bytes)
            self._file.seek(self._n_bytes)
        return self._file

    def _fail(self) -> None:
        """Deletes the file, since the checkpoint beside it needs disk space."""
        self.delete()
        self._has_failed = True


def _of_frame(content: bytes, n_rows: int) -> list[bytes]:
    lengths = struct.Struct(f"<{n_rows}I")
    place, words = lengths.size, []
    for length in lengths.unpack_from(content):
        words.append(content[place : place + length])
        place += length
    return words
