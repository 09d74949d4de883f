"""Opens an embeddings file (plain, gzipped, or in a zip archive) as a stream with a position."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ingest.files.unpacking import DAMAGE, unpacked
from reranker.base.errors import BadEmbeddings, BadInput, NotFound

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
# A line of 300 numbers has some 3 kB.
_MAX_LINE_BYTES = 1 << 20


class EmbeddingsFile:
    """An open file, to be read once from the beginning.

    Attributes:
        path: the file, as given.
    """

    def __init__(self, path: Path, raw: BinaryIO, content: io.BufferedReader) -> None:
        self.path = path
        self._raw = raw
        self._content = content
        self._n_bytes = 0

    @property
    def position(self) -> int:
        """Number of bytes read from the disk so far."""
        return self._raw.tell()

    def read(self, n_bytes: int) -> bytes:
        """The next bytes, at most `n_bytes`; empty only at the end of the file.

        Raises:
            BadEmbeddings: the file is truncated or damaged.
        """
        try:
            part = self._content.read1(n_bytes)
        except OSError as error:
            raise self._damaged(f"after byte {self._n_bytes:,} of the contents", error) from error
        self._n_bytes += len(part)
        return part

    def sample(self, n_bytes: int) -> bytes:
        """The first `n_bytes`; fewer if the file ends or is damaged before. (Reading it later gives an error with the
        line.)

        Raises:
            BadEmbeddings: not even one complete line can be read.
        """
        found = b""
        try:
            while len(found) < n_bytes and (part := self.read(n_bytes - len(found))):
                found += part
        except BadEmbeddings:
            if b"\n" not in found:
                raise
        return found

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its number from 1, without its line ending.

        Raises:
            BadEmbeddings: a line is longer than 1 MiB, or the file is truncated or damaged.
        """
        number = 0
        while True:
            try:
                line = self._content.readline(_MAX_LINE_BYTES)
            except OSError as error:
                raise self._damaged(f"line {number + 1}", error) from error
            if not line:
                return
            number += 1
            if len(line) == _MAX_LINE_BYTES:
                raise BadEmbeddings(
                    f"{self.path}, line {number}: longer than {_MAX_LINE_BYTES:,} bytes, so this is not "
                    "embeddings as text; give another file"
                )
            yield number, line.rstrip(b"\r\n")

    def _damaged(self, place: str, error: Exception) -> BadEmbeddings:
        return BadEmbeddings(f"{self.path}, {place}: the file is truncated or damaged ({error}); fetch it again")


@contextmanager
def open_file(path: Path, member: str | None = None) -> Iterator[EmbeddingsFile]:
    """Opens a file. Its first bytes, and not its name, say whether it is compressed.

    Args:
        member: exact name of the file in a zip archive; None: the archive must contain exactly one file.

    Raises:
        NotFound: there is no such file.
        BadInput: it is a folder, or cannot be read.
        BadEmbeddings: a zip archive is damaged or encrypted, or does not contain exactly one file.
    """
    if not path.exists():
        raise NotFound(f"there is no file {str(path)!r}; check the path")
    if path.is_dir():
        raise BadInput(f"{str(path)!r} is a folder; name the files in it")
    try:
        raw = path.open("rb")
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read ({error.strerror}); check its permissions") from error
    with raw:
        magic = raw.peek(4)[:4]
        if magic.startswith(_GZIP_MAGIC):
            with gzip.GzipFile(fileobj=raw) as unzipped:
                yield EmbeddingsFile(path, raw, unpacked(raw, unzipped))
        elif magic == _ZIP_MAGIC:
            with _open_member(path, raw, member) as content:
                yield EmbeddingsFile(path, raw, unpacked(raw, content))
        else:
            yield EmbeddingsFile(path, raw, raw)


def _open_member(path: Path, raw: BinaryIO, name: str | None) -> zipfile.ZipExtFile:
    try:
        archive = zipfile.ZipFile(raw)
        # macOS adds a hidden file for each file.
        members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
        if name is not None:
            members = [m for m in members if m.filename == name]
        if len(members) == 1:
            return cast(zipfile.ZipExtFile, archive.open(members[0]))
    except (RuntimeError, *DAMAGE) as error:
        # A damaged directory may have a negative offset, which gives the error "invalid argument".
        why = "its directory is damaged" if isinstance(error, OSError) else str(error)
        raise BadEmbeddings(f"{path} cannot be unpacked ({why}); fetch it again, or unpack it by hand") from error
    names = ", ".join(m.filename for m in members) or "nothing"
    raise BadEmbeddings(f"{path} contains {len(members)} files ({names}); unpack it and name one of them")
