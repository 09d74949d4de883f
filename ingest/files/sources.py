"""Finds the files that names stand for, and the format of each."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from reranker.base.errors import BadInput, NotFound, WrongParameter

STDIN = "-"
FORMATS = ("jsonl", "csv", "tsv", "parquet", "trec", "html", "text")
PAGE_FORMATS = ("html", "text")

_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".trec": "trec",
    ".sgml": "trec",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
}
_COMPRESSIONS = (".gz", ".zst", ".bz2")
_READ_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder to read.

    Attributes:
        name: to show for it.
        format: one of `FORMATS`, or `folder`.
        columns: the names of the columns of a CSV or TSV file whose first row does not name them.
        digest: of its contents, where its path says nothing about them.
    """

    path: Path
    name: str
    format: str
    columns: tuple[str, ...] | None = None
    digest: str | None = None

    def identity(self) -> list[object]:
        """What tells it from what it was at another time: path, size and time of change, or its contents."""
        if self.digest is not None:
            return [self.name, self.format, self.columns, self.digest]
        files = list(pages_of(self.path)) if self.format == "folder" else [self.path]
        hasher = blake2b(digest_size=16)
        for file in files:
            status = file.stat()
            hasher.update(
                f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape")
            )
        return [str(self.path.resolve()), self.format, self.columns, hasher.hexdigest()]


@contextmanager
def open_sources(
    names: Sequence[str], file_format: str | None = None, columns: Sequence[str] | None = None
) -> Iterator[list[Source]]:
    """The sources of these names: files, folders of HTML and text files, patterns (`pages/*.jsonl`, `**` for folders of
    any depth); `-` is standard input, kept in a temporary file so that it can be read twice.

    Args:
        file_format: one of `FORMATS`; where it is None the file's name says it, and standard input is JSONL.
        columns: the names of the columns, where no first row names them.

    Raises:
        NotFound: there is no such file.
        BadInput: no file, a folder without pages, a format that is not known, or standard input twice.
    """
    if not names:
        raise BadInput("no file was given; name at least one, or - for standard input")
    if file_format is not None and file_format not in FORMATS:
        raise WrongParameter(f"format {file_format!r} is not known; give one of {', '.join(FORMATS)}")
    if list(names).count(STDIN) > 1:
        raise BadInput("standard input (-) can be read only once; give it once")
    named = None if columns is None else tuple(columns)
    with tempfile.TemporaryDirectory(prefix="sinkrank-") as folder:
        yield [source for name in names for source in _sources(name, file_format, named, Path(folder))]


def format_of_name(path: Path) -> str | None:
    """The format that a file's name says; None where it says none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "")


def pages_of(folder: Path) -> Iterator[Path]:
    """The HTML and text files of a folder and of those below it, in the order of their paths."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names) if format_of_name(Path(name)) in PAGE_FORMATS)


def _sources(name: str, file_format: str | None, columns: tuple[str, ...] | None, folder: Path) -> Iterator[Source]:
    if name == STDIN:
        path = folder / "stdin"
        yield Source(path, STDIN, file_format or "jsonl", columns, _spool(path))
        return
    path = Path(name)
    if path.is_dir():
        yield _folder(path, name)
        return
    paths = [path] if path.exists() else [Path(found) for found in sorted(glob.glob(name, recursive=True))]  # noqa: PTH207
    if not paths:
        raise NotFound(f"there is no file {name!r}; check the path")
    for found in paths:
        if found.is_dir():
            continue
        yield Source(found, str(found) if found != path else name, file_format or _format_of(found), columns)


def _folder(path: Path, name: str) -> Source:
    if next(pages_of(path), None) is None:
        raise BadInput(
            f"{name!r} is a folder without HTML or text files; name the files in it, such as {name.rstrip('/')}/*.jsonl"
        )
    return Source(path, name, "folder")


def _format_of(path: Path) -> str:
    found = format_of_name(path)
    if found is None:
        raise BadInput(
            f"the name of {str(path)!r} does not say its format; give --format {'|'.join(FORMATS)} "
            "(a JSON array becomes JSONL with `jq -c '.[]'`)"
        )
    return found


def _spool(path: Path) -> str:
    """Keeps standard input in a file; a hash of it."""
    with path.open("wb") as spooled:
        shutil.copyfileobj(sys.stdin.buffer, spooled)
    hasher = blake2b(digest_size=16)
    with path.open("rb") as spooled:
        while part := spooled.read(_READ_BYTES):
            hasher.update(part)
    return hasher.hexdigest()
