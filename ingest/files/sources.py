"""Finds the files that names stand for, and the format of each."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reranker.errors import BadInput, NotFound, WrongParameter

STDIN = "-"
FORMATS = ("jsonl", "csv", "tsv")

_FORMAT_OF_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: where it lies, the name to show for it, and one of `FORMATS`."""

    path: Path
    name: str
    format: str


@contextmanager
def open_sources(names: Sequence[str], file_format: str | None = None) -> Iterator[list[Source]]:
    """The sources of these names; `-` is standard input, kept in a temporary file so that it can be read twice.

    Args:
        file_format: one of `FORMATS`; where it is None the file's name says it, and standard input is JSONL.

    Raises:
        NotFound: there is no such file.
        BadInput: no file, a folder, a format that is not known, or standard input twice.
    """
    if not names:
        raise BadInput("no file was given; name at least one, or - for standard input")
    if file_format is not None and file_format not in FORMATS:
        raise WrongParameter(f"format {file_format!r} is not known; give one of {', '.join(FORMATS)}")
    if list(names).count(STDIN) > 1:
        raise BadInput("standard input (-) can be read only once; give it once")
    with tempfile.TemporaryDirectory(prefix="sinkrank-") as folder:
        yield [_source(name, file_format, Path(folder)) for name in names]


def _source(name: str, file_format: str | None, folder: Path) -> Source:
    if name == STDIN:
        path = folder / "stdin"
        with path.open("wb") as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
        return Source(path, STDIN, file_format or "jsonl")
    path = Path(name)
    if not path.exists():
        raise NotFound(f"there is no file {name!r}; check the path")
    if path.is_dir():
        raise BadInput(f"{name!r} is a folder; name the files in it, such as {name.rstrip('/')}/*.jsonl")
    return Source(path, name, file_format or _format_of(path))


def _format_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    found = _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "")
    if found is None:
        raise BadInput(
            f"the name of {str(path)!r} does not say its format; give --format {'|'.join(FORMATS)} "
            "(a JSON array becomes JSONL with `jq -c '.[]'`)"
        )
    return found
