"""Writes rows that could not be indexed to a file, with their reasons, so that they can be corrected and ingested."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from ingest.files import STDIN, Row, Source
from reranker.base.errors import BadInput


def default_reject_path(sources: Iterable[Source]) -> Path:
    """`<first input>.rejects`: a quoted pattern for the inputs (`'*'`) does not find it. For standard input it is
    `stdin.rejects` and for an index `INDEX.rejects`, in the working folder; for `.` and `..` it has the folder's own
    name there."""
    name = next(iter(sources)).name
    if "://" in name:
        name = name.rpartition("/")[2]
    elif Path(name).name in ("", ".."):
        name = Path(name).resolve().name
    return Path(f"{'stdin' if name == STDIN else Path(name)}.rejects")


class RejectFile:
    """A JSONL file of `{"file", "line", "id", "reason", "raw"}`. The first reject creates it, over an older one; runs
    that have the same one at the same time all add to it.

    `raw` is the row as in its file, with `\\x..` for bytes that are not UTF-8. Rows of other formats than JSON have
    their fields in `values`, too, and pages that could not be parsed their `format`. The file can be ingested as it is,
    corrected or not.

    Attributes:
        first: file, line and reason of this run's first reject.
    """

    def __init__(self, path: Path, sources: Iterable[Source]) -> None:
        """
        Raises:
            BadInput: the file cannot be written, or is one of the inputs.
        """
        self.path = path
        self.first: str | None = None
        self._file: BinaryIO | None = None
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadInput(f"rejected rows cannot be written to {str(path)!r}; name another file with --rejects")
        if any(path.exists() and path.samefile(source.path) for source in sources):
            raise BadInput(f"{str(path)!r} is an input, so it cannot take rejected rows; name another with --rejects")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, row: Row, doc_id: str | None, reason: str) -> None:
        """Writes one row, which was parsed, and flushes it, so that a killed run loses none."""
        if self._file is None:
            self._file = _opened(self.path)
            self.first = f"{row.file}, line {row.line}: {reason}"
        self._file.write(json.dumps(_as_json(row, doc_id, reason)).encode() + b"\n")
        self._file.flush()


def _opened(path: Path) -> BinaryIO:
    """Opens the file to add to it. It is emptied first, unless another run has it open to add to it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return path.open("wb")
    # To read, too: some file systems give a shared lock only then.
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666), "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_shared = False
    except OSError as error:  # any other: of a file system without locks
        is_shared = isinstance(error, BlockingIOError)
    if not is_shared:
        path.open("wb").close()
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_SH)
    return file


def _as_json(row: Row, doc_id: str | None, reason: str) -> dict[str, Any]:
    rejected: dict[str, Any] = {
        "file": row.file,
        "line": row.line,
        "id": doc_id,
        "reason": reason,
        "raw": row.raw.decode(errors="backslashreplace"),
    }
    if row.values is not None and row.format != "jsonl":
        rejected["values"] = row.values
        if row.format:
            rejected["format"] = row.format
    return rejected
