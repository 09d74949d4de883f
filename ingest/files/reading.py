"""Turns files into rows, and rows into their fields, by format. A row that cannot be read has the reason instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ingest.files.jsonl import parse_json, read_jsonl
from ingest.files.lines import open_file
from ingest.files.markdown import parse_markdown
from ingest.files.pages import parse_html, parse_text, read_folder, read_page
from ingest.files.parquet import columns_of, read_parquet
from ingest.files.row import Row
from ingest.files.separated import Records, header, read_csv
from ingest.files.sources import Source
from ingest.files.walking import PAGE_FORMATS
from reranker.base.batches import in_batches
from reranker.base.errors import SinkrankError, one_line

_READERS: dict[str, Callable[[Source], Iterator[Row]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_csv,
    "parquet": read_parquet,
    "html": read_page,
    "markdown": read_page,
    "text": read_page,
    "folder": read_folder,
}
_PARSERS: dict[str, Callable[[Row], Row]] = {
    "jsonl": parse_json,
    "html": parse_html,
    "markdown": parse_markdown,
    "text": parse_text,
}


def in_pieces(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in pieces so large that sending one to a process costs little compared with the work on it."""
    return in_batches(rows, lambda row: len(row.raw), 250, 2_000_000)


def read_rows(source: Source) -> Iterator[Row]:
    """The rows of a file, as a stream, most of them still to be parsed (`parse`); empty lines are skipped.

    Raises:
        BadInput: a CSV file without a usable header, or not a Parquet file.
    """
    return _READERS[source.format](source)


def parse(row: Row) -> Row:
    """The row with its fields, or with the reason why there are none. Any process can do this part of reading.

    Raises:
        MissingPackage: the extra that reads the format is not installed.
    """
    if row.error is not None or (row.values is not None and row.format not in PAGE_FORMATS):
        return row
    try:
        return _PARSERS[row.format](row)
    except (SinkrankError, MemoryError):
        raise
    except Exception as error:  # what the packages that parse pages raise for odd ones is not known, and ends no run
        reason = f"{type(error).__name__}: {one_line(error)}"
        return row._replace(error=f"the page cannot be read ({reason}); correct it or leave it out")


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
