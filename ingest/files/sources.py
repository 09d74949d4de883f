"""Finds the files for names and patterns, and the format of each."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path

from ingest.files.walking import FORMATS, PAGE_FORMATS, format_of_name, pages_of, walk
from reranker.base.errors import BadInput, NotFound, WrongParameter
from reranker.base.temporary import temporary_folder

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder to read.

    Attributes:
        name: name to show.
        format: one of `FORMATS`, or `folder`.
        columns: column names of a CSV or TSV file whose first row does not name them.
        digest: hash of the contents, if the path does not identify them.
        page_id: document id of a page: its path below the common folder of the given files.
        left_out: number of ignored files of a folder, by kind.
    """

    path: Path
    name: str
    format: str
    columns: tuple[str, ...] | None = None
    digest: str | None = None
    page_id: str = ""
    left_out: tuple[tuple[str, int], ...] = ()

    def identity(self) -> list[object]:
        """Identifies this version of the file: path, size and modification time, or a hash of the contents."""
        if self.digest is not None:
            return [self.name, self.format, self.columns, self.digest]
        files = list(pages_of(self.path)) if self.format == "folder" else [self.path]
        hasher = blake2b(digest_size=16)
        for file in files:
            hasher.update(_identity(file).encode(errors="surrogateescape"))
        return [str(self.path.resolve()), self.format, self.columns, hasher.hexdigest(), *filter(None, [self.page_id])]


def _identity(file: Path) -> str:
    try:
        status = file.stat()
    except OSError:  # deleted since the folder was read; its row will have the error
        return f"{file}\0\n"
    return f"{file.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\n"


@contextmanager
def open_sources(
    names: Sequence[str], file_format: str | None = None, columns: Sequence[str] | None = None
) -> Iterator[list[Source]]:
    """The sources of these names: files, folders of HTML, Markdown and text files, patterns (`pages/*.jsonl`, `**` for
    folders of any depth); `-` is standard input, copied to a temporary file so that it can be read twice.

    Args:
        file_format: one of `FORMATS`; None: by the file's name, and JSONL for standard input.
        columns: column names, if the first row does not name them.

    Raises:
        NotFound: there is no such file.
        BadInput: no file, a folder without pages, an unknown format, or standard input twice.
    """
    if not names:
        raise BadInput("no file was given; name at least one, or - for standard input")
    if file_format is not None and file_format not in FORMATS:
        raise WrongParameter(f"format {file_format!r} is not known; give one of {', '.join(FORMATS)}")
    if list(names).count(STDIN) > 1:
        raise BadInput("standard input (-) can be read only once; give it once")
    named = None if columns is None else tuple(columns)
    pages = [Path(name) for name in names if name != STDIN and _is_page(Path(name), file_format)]
    base = _common_folder([path for path in pages if path.exists() and not path.is_dir()])
    with temporary_folder("sinkrank-input-") if STDIN in names else nullcontext(Path()) as folder:
        yield [source for name in names for source in _sources(name, file_format, named, folder, base)]


def _sources(
    name: str, file_format: str | None, columns: tuple[str, ...] | None, folder: Path, base: str
) -> Iterator[Source]:
    """
    Args:
        folder: folder for the copy of standard input.
        base: the folder that the ids of single files are relative to.
    """
    if name == STDIN:
        path = folder / "stdin"
        yield Source(path, STDIN, file_format or "jsonl", columns, _spool(path), STDIN)
        return
    path = Path(name)
    if name and path.exists():  # the empty name would be the working folder
        yield _folder(path, name) if path.is_dir() else _file(path, name, file_format, columns, base)
        return
    # A reject file lies beside its input, whose pattern may match it, too.
    paths = [
        Path(found)
        for found in sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        if (name.endswith(".rejects") or not found.endswith(".rejects")) and Path(found).is_file()
    ]
    if not paths:
        raise NotFound(f"there is no file {name!r}; check the path")
    yield from (_file(found, str(found), file_format, columns, _fixed_folder(name)) for found in paths)


def _file(path: Path, name: str, file_format: str | None, columns: tuple[str, ...] | None, base: str) -> Source:
    page_id = _page_id(path, base) if _is_page(path, file_format) else ""
    return Source(path, name, file_format or _format_of(path), columns, page_id=page_id)


def _is_page(path: Path, file_format: str | None) -> bool:
    return (file_format or format_of_name(path)) in PAGE_FORMATS


def _common_folder(files: Sequence[Path]) -> str:
    """The deepest folder that contains all of the files."""
    return os.path.commonpath([os.path.abspath(file.parent) for file in files]) if files else ""  # noqa: PTH100


def _fixed_folder(pattern: str) -> str:
    """The folder of a pattern before its first wildcard."""
    fixed = itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts[:-1])
    return os.path.abspath(Path(*fixed))  # noqa: PTH100


def _page_id(path: Path, base: str) -> str:
    return Path(os.path.abspath(path)).relative_to(base).as_posix()  # noqa: PTH100


def _folder(path: Path, name: str) -> Source:
    found = list(walk(path))
    left_out = Counter(kind for _, kind in found if kind is not None)
    if all(kind is not None for _, kind in found):
        raise BadInput(
            f"{name!r} is a folder without HTML, Markdown or text files; name the files in it, such as "
            f"{name.rstrip('/')}/*.jsonl"
        )
    return Source(path, name, "folder", left_out=tuple(left_out.most_common()))


def _format_of(path: Path) -> str:
    found = format_of_name(path)
    if found is None:
        raise BadInput(
            f"the name of {str(path)!r} does not say its format; end it in .jsonl, .csv, .tsv, .parquet, .html, .md "
            f"or .txt, or give `sinkrank ingest` --format {'|'.join(FORMATS)} (a JSON array becomes JSONL with "
            "`jq -c '.[]'`)"
        )
    return found


def _spool(path: Path) -> str:
    """Copies standard input to a file. Returns a hash of it.

    Raises:
        BadInput: it is closed.
    """
    if sys.stdin is None:
        raise BadInput("standard input (-) is closed; give the rows to it, or name a file")
    with path.open("w+b") as spooled:
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.seek(0)
        return file_digest(spooled, partial(blake2b, digest_size=16)).hexdigest()
