"""Opens a file, compressed or not, and reads its lines. Lines that cannot be read or are too long have an error."""

from __future__ import annotations

import bz2
import gzip
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, NamedTuple

from reranker.base.errors import BadInput

# Much more than a text of 2,000 words, and little memory. A bulk request to an engine may have 100 MB.
MAX_ROW_BYTES = 16 * 2**20
# The part of a longer row that goes to the reject file.
_EXCERPT_BYTES = 1_000
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
_OTHER_MAGICS = (b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xfd7zXZ")  # Zstandard, zip, xz
_LONGEST_MAGIC = 5
_UNPACKED_BYTES = 1 << 17
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


DAMAGE = (OSError, EOFError, zlib.error)
"""The errors of reading a damaged or truncated file."""


class Line(NamedTuple):
    number: int
    content: bytes
    error: str | None = None


def lines(file: BufferedReader) -> Iterable[Line]:
    """The lines of a file without line ends. A truncated or damaged file ends with a line that has an error."""
    number = 0
    try:
        while content := file.readline(MAX_ROW_BYTES + 1):
            number += 1
            if number == 1:
                content = content.removeprefix(_BYTE_ORDER_MARK)
            if len(content) > MAX_ROW_BYTES and not content.endswith(b"\n"):
                while (more := file.readline(2**20)) and not more.endswith(b"\n"):
                    pass
                reason = f"the line is longer than {MAX_ROW_BYTES:,} bytes; only its beginning is kept here"
                yield Line(number, content[:_EXCERPT_BYTES], reason)
            else:
                yield Line(number, content.rstrip(b"\r\n"))
    except DAMAGE as error:
        yield Line(number + 1, b"", f"the file cannot be read from here on ({error}); fetch or write it again")


@contextmanager
def open_file(path: Path) -> Iterator[BufferedReader]:
    """A file's contents, unpacked if they are gzip or bzip2, whatever the file's name. Reading raises one of `DAMAGE`
    if the file is damaged or truncated.

    Raises:
        BadInput: as `open_packed`, or it is packed otherwise.
    """
    with open_packed(path) as raw:
        yield _unpacked(raw, path)


@contextmanager
def open_packed(path: Path) -> Iterator[BufferedReader]:
    """A file's contents as they are.

    Raises:
        BadInput: it cannot be opened, or is a FIFO, a socket or a device.
    """
    try:
        raw = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from error
    with raw:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise BadInput(
                f"{path} is not a regular file; name a file, or give - to read documents from standard input"
            )
        yield raw


def _open_at_once(path: str, flags: int) -> int:
    """Opens a file without waiting, also a FIFO without a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _unpacked(raw: BufferedReader, path: Path) -> BufferedReader:
    magic = raw.peek(_LONGEST_MAGIC)
    if magic.startswith(_GZIP_MAGIC):
        return BufferedReader(_Unpacked(gzip.GzipFile(fileobj=raw)), _UNPACKED_BYTES)
    if magic.startswith(_BZIP2_MAGIC):
        return BufferedReader(_Unpacked(bz2.BZ2File(raw)), _UNPACKED_BYTES)
    if magic.startswith(_OTHER_MAGICS):
        raise BadInput(f"{path} is packed, but not with gzip or bzip2; unpack it first")
    return raw


class _Unpacked(RawIOBase):
    """The contents of a packed file, in the pieces in which it unpacks them. (To fill a buffer, it would unpack more
    before it gives what it has, and a damaged file would lose that.)"""

    def __init__(self, packed: gzip.GzipFile | bz2.BZ2File) -> None:
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._packed.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
