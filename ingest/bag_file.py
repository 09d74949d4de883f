"""Keeps the words that counting found in each row in a temporary file, so that no text is tokenised twice in a run.

Each piece of rows is stored as its number of rows, the length of its block (both uint32, little-endian), and a zlib
block: the length of each row's words (uint32), then the concatenated words. If the disk is full, all rows are tokenised
again.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

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
        folder: folder of the file, which has no name and is gone with the process; None: the temporary folder.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._is_full = False

    def add(self, words: Sequence[bytes]) -> None:
        """Adds the words of the rows of a piece, empty for rows without."""
        if self._is_full:
            return
        lengths = struct.pack(f"<{len(words)}I", *map(len, words))
        frame = zlib.compress(lengths + b"".join(words), _LEVEL)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by `close`
            self._file.write(_HEADER.pack(len(words), len(frame)) + frame)
        except OSError:
            self.close()  # the checkpoint needs the disk space
            self._is_full = True  # if rows are missing, none can be added after them

    def read(self) -> Iterator[bytes]:
        """The words of all rows; none if the disk was full."""
        if self._file is None:
            return
        try:
            self._file.seek(0)
        except OSError:
            return  # the last of them could not be written
        while header := self._file.read(_HEADER.size):
            n_rows, length = _HEADER.unpack(header)
            yield from _of_frame(zlib.decompress(self._file.read(length)), n_rows)

    def close(self) -> None:
        """Deletes all words; the object can be used again."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None
        self._is_full = False


def _of_frame(content: bytes, n_rows: int) -> list[bytes]:
    lengths = struct.Struct(f"<{n_rows}I")
    place, words = lengths.size, []
    for length in lengths.unpack_from(content):
        words.append(content[place : place + length])
        place += length
    return words
