"""Opens a file of embeddings or of a dictionary, as ingest opens its files, or a file in a zip archive."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from typing import cast

from ingest.files import lines
from ingest.files.unpacking import DAMAGE, unpacked
from reranker.base.errors import BadEmbeddings

_ZIP_MAGIC = b"PK\x03\x04"


@contextmanager
def open_file(path: Path, member: str | None = None) -> Iterator[BufferedReader]:
    """A file's contents, decompressed. Its first bytes, and not its name, say whether it is compressed. Reading raises
    OSError if it is damaged or truncated.

    Args:
        member: exact name of the file in a zip archive; None: the archive must contain exactly one file.

    Raises:
        BadInput: it cannot be opened.
        BadEmbeddings: a zip archive is damaged or encrypted, or does not contain exactly one file.
    """
    with lines.open_file(path) as file:
        if isinstance(file.raw, FileIO) and file.peek(len(_ZIP_MAGIC)).startswith(_ZIP_MAGIC):
            with _open_member(path, file, member) as content:
                yield unpacked(file, content)
        else:
            yield file


def _open_member(path: Path, raw: BufferedReader, name: str | None) -> zipfile.ZipExtFile:
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
