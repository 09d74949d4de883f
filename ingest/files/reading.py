"""Turns files into rows, by format. A row that cannot be read has the reason instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ingest.files.jsonl import read_jsonl
from ingest.files.lines import open_file
from ingest.files.pages import read_folder, read_page
from ingest.files.parquet import columns_of, read_parquet
from ingest.files.row import Row
from ingest.files.separated import Records, header, read_csv
from ingest.files.sources import Source
from ingest.files.trec import read_trec

_READERS: dict[str, Callable[[Source], Iterator[Row]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_csv,
    "parquet": read_parquet,
    "trec": read_trec,
    "html": read_page,
    "markdown": read_page,
    "text": read_page,
    "folder": read_folder,
}


def read_rows(source: Source) -> Iterator[Row]:
    """The rows of a file, as a stream, most of them still to be parsed (`parsing.parse`); empty lines are skipped.

    Raises:
        BadInput: a CSV file without a usable header, or not a Parquet file.
    """
    yield from _READERS[source.format](source)


def read_header(source: Source) -> list[str] | None:
    """The column names of a CSV or Parquet file; None for others, where each row names its own fields.

    Raises:
        BadInput: the file is empty, its first row cannot be read, or has a name twice.
    """
    if source.format == "parquet":
        return columns_of(source)
    if source.format not in ("csv", "tsv"):
        return None
    with open_file(source.path) as file:
        return header(Records(file, source))
