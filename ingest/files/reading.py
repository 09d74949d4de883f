"""Turns files into rows, each by its format; a row that cannot be read comes out with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.files.jsonl import read_jsonl
from ingest.files.lines import open_file
from ingest.files.row import Row
from ingest.files.separated import Records, read_csv
from ingest.files.separated import header as header_of
from ingest.files.sources import Source


def read_rows(source: Source) -> Iterator[Row]:
    """The rows of a file, as a stream; empty lines are skipped.

    Raises:
        BadInput: a CSV file without a usable header.
    """
    yield from read_jsonl(source) if source.format == "jsonl" else read_csv(source)


def read_header(source: Source) -> list[str] | None:
    """The column names of a CSV file; None for JSONL, where each row names its own fields.

    Raises:
        BadInput: the file is empty, its first row cannot be read, or a name stands in it twice.
    """
    if source.format == "jsonl":
        return None
    with open_file(source.path) as file:
        return header_of(Records(file, source))
