"""Writes rows that could not be indexed to a file, with their reasons, so that they can be mended and fed in again."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from ingest.documents import Record
from ingest.files import STDIN, Source
from reranker.errors import BadInput


def default_reject_path(sources: Iterable[Source]) -> Path:
    """`<first input>.rejects.jsonl`; for standard input `stdin.rejects.jsonl` in the working folder."""
    name = next(iter(sources)).name
    return Path(f"{'stdin' if name == STDIN else name}.rejects.jsonl")


class RejectFile:
    """A JSONL file of `{"file", "line", "id", "reason", "raw"}`, made (over an older one) at the first reject only.

    `raw` is the row as it stood in its file; where that was not UTF-8, its bytes stand in `raw_base64` too.

    Attributes:
        count: rows rejected so far.
    """

    def __init__(self, path: Path, sources: Iterable[Source]) -> None:
        """
        Raises:
            BadInput: the file could not be written, or is one of the inputs; known before the run, not in its middle.
        """
        self.path = path
        self.count = 0
        self._file: TextIO | None = None
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadInput(f"rejected rows cannot be written to {str(path)!r}; name another file with --rejects")
        if any(path.exists() and path.samefile(source.path) for source in sources):
            raise BadInput(f"{str(path)!r} is an input, so it cannot take rejected rows; name another with --rejects")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, record: Record, reason: str) -> None:
        """Writes one row, and out to the file at once: a run that is killed has lost none."""
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8")
        row: dict[str, Any] = {
            "file": record.row.file,
            "line": record.row.line,
            "id": record.doc_id,
            "reason": reason,
            "raw": record.row.raw.decode(errors="backslashreplace"),
        }
        try:
            record.row.raw.decode()
        except UnicodeDecodeError:
            row["raw_base64"] = base64.b64encode(record.row.raw).decode("ascii")
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        self.count += 1
