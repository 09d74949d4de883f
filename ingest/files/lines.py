"""Opens a file, compressed or not, and reads its lines. Lines that cannot be read or are too long have an error."""

from __future__ import annotations

import bz2
import gzip
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ingest.files.unpacking import Zstandard, unpacked
from reranker.base.errors import BadInput

# Much more than a text of 2,000 words, and little memory. A bulk request to an engine may have 100 MB.
MAX_ROW_BYTES = 16 * 2**20
# The part of a longer row that goes to the reject file.
_SHOWN_BYTES = 1_000
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
_ZSTANDARD_MAGIC = b"\x28\xb5\x2f\xfd"
_LONGEST_MAGIC = 4
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    number: int
    content: bytes
    error: str | None = None


def lines(file: BinaryIO) -> Iterable[Line]:
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
                yield Line(number, content[:_SHOWN_BYTES], reason)
            else:
                yield Line(number, content.rstrip(b"\r\n"))
    except OSError as error:
        yield Line(number + 1, b"", f"the file cannot be read from here on ({error}); fetch or write it again")


@contextmanager
def open_file(path: Path) -> Iterator[BufferedReader]:
    """A file's contents, decompressed if they are gzip, Zstandard or bzip2, whatever the file's name. Reading raises
    OSError if the file is damaged or truncated.

    Raises:
        BadInput: it cannot be opened, or is a FIFO, a socket or a device.
        MissingPackage: it is compressed with Zstandard, and the extra `zstd` is not installed.
    """
    try:
        raw = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from error
    with raw, ExitStack() as unpacking:
        if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            raise BadInput(f"{path} is not a regular file; name a file, or give - to read standard input")
        yield unpacking.enter_context(_unpacked(raw))


def _open_at_once(path: str, flags: int) -> int:
    """Opens a file without waiting, also a FIFO without a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _unpacked(raw: BufferedReader) -> BufferedReader:
    magic = raw.peek(_LONGEST_MAGIC)
    if magic.startswith(_GZIP_MAGIC):
        return unpacked(raw, gzip.GzipFile(fileobj=raw))
    if magic.startswith(_BZIP2_MAGIC):
        return unpacked(raw, bz2.BZ2File(raw))
    if magic.startswith(_ZSTANDARD_MAGIC):
        return unpacked(raw, Zstandard(raw))
    return raw
