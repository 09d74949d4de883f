"""Opens a file, gzipped or not, and reads its lines; one that is too long or cannot be read comes with its reason."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reranker.errors import BadInput

# Far above any text of 500 words, far below what would strain memory; one bulk request to an engine ends at 100 MB.
MAX_ROW_BYTES = 16 * 2**20
# What is shown of a row that is longer; the row itself stays in its file.
_SHOWN_BYTES = 1_000
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    content: bytes
    error: str | None = None


def lines(file: BinaryIO) -> Iterable[Line]:
    """The lines of a file without their ends; a file that breaks off (gzip) ends in a line with an error."""
    number = 0
    try:
        while content := file.readline(MAX_ROW_BYTES + 1):
            number += 1
            if len(content) > MAX_ROW_BYTES and not content.endswith(b"\n"):
                while (more := file.readline(2**20)) and not more.endswith(b"\n"):
                    pass
                yield Line(number, content[:_SHOWN_BYTES], _too_long())
            else:
                yield Line(number, content.rstrip(b"\r\n"))
    except (EOFError, zlib.error, OSError) as error:
        yield Line(number + 1, b"", f"the file cannot be read from here on ({error}); fetch or write it again")


def _too_long() -> str:
    return f"the line is longer than {MAX_ROW_BYTES:,} bytes; only its beginning is kept here"


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    try:
        raw = path.open("rb")
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from error
    with raw:
        if raw.peek(2)[:2] == _GZIP_MAGIC:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield raw
