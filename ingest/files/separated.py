"""Turns CSV and TSV into rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import BufferedReader
from itertools import chain

from ingest.files import lines
from ingest.files.lines import open_file
from ingest.files.row import Row, check_columns, not_utf8
from ingest.files.sources import Source
from reranker.base.errors import BadInput

_DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_csv(source: Source) -> Iterator[Row]:
    """The rows, with their cells as strings.

    Raises:
        BadInput: the first row does not name the columns.
    """
    with open_file(source.path) as file:
        records = Records(file, source)
        columns = header(records)
        for cells, error in records:
            if error is None and not cells:
                continue
            if error is None and len(cells) != len(columns):
                hint = "check separators and quotes" if source.format == "csv" else "check the tabs"
                error = f"the row has {len(cells)} columns, the header {len(columns)}; {hint}"
            # Of a row that cannot be read the reject file names the columns, so that they can be filled in.
            values = dict.fromkeys(columns, "") if error else dict(zip(columns, cells, strict=True))
            yield Row(source.name, records.line, records.raw, values, error, "")


def header(records: Records) -> list[str]:
    """The column names.

    Raises:
        BadInput: there are none, or a name is repeated.
    """
    name = records.source.name
    if records.source.columns is not None:
        return check_columns(name, map(str.strip, records.source.columns))
    for cells, error in records:
        if error is not None:
            raise BadInput(f"{name}, line {records.line}: {error}; the first row must name the columns")
        if cells:
            return check_columns(name, (cell.strip() for cell in cells))
    raise BadInput(f"{name} is empty; the first row must name the columns (id, language, title, text, …)")


class Records:
    """The records of a CSV file: the cells of each, or an error.

    Attributes:
        line: first line of the latest record.
        raw: the latest record as in the file.
    """

    def __init__(self, file: BufferedReader, source: Source) -> None:
        self.source = source
        rest = iter(lines.lines(file))
        first = next(rest, lines.Line(0, b""))
        self._lines = _RecordLines(chain([first] if first.number else [], rest))
        csv.field_size_limit(lines.MAX_ROW_BYTES)  # the default limit of 128 kB is the length of a long article
        # Strict, so that a stray quote is an error and does not change the text silently. In TSV a quote is a character
        # like others, as in collections of sentences (MS MARCO).
        self._reader = csv.reader(
            self._lines,
            delimiter=_delimiter(source, first.content),
            quoting=csv.QUOTE_NONE if source.format == "tsv" else csv.QUOTE_MINIMAL,
            strict=True,
        )

    @property
    def line(self) -> int:
        return self._lines.first

    @property
    def raw(self) -> bytes:
        return b"\n".join(self._lines.parts)

    def __iter__(self) -> Iterator[tuple[list[str], str | None]]:
        while True:
            self._lines.start_record()
            cells: list[str] = []
            error = None
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as raised:
                error = f"not CSV: {raised}"
            yield cells, self._lines.error or error


def _delimiter(source: Source, first_line: bytes) -> str:
    """A semicolon where the header of a CSV file has more of these than commas: Excel writes it where numbers have a
    decimal comma."""
    has_header = source.format == "csv" and source.columns is None
    return ";" if has_header and first_line.count(b";") > first_line.count(b",") else _DELIMITERS[source.format]


class _RecordLines:
    """Feeds lines to the CSV parser and keeps the lines of the current record. An error ends the record and not the
    file. (A generator could not continue after an error.)"""

    def __init__(self, found: Iterator[lines.Line]) -> None:
        self._lines = found
        self.start_record()

    def start_record(self) -> None:
        self.first = 0
        self.parts: list[bytes] = []
        self.error: str | None = None
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.first = self.first or line.number
        self.parts.append(line.content)
        self._size += len(line.content)
        if self._size > lines.MAX_ROW_BYTES:
            self.error = f"the row is longer than {lines.MAX_ROW_BYTES:,} bytes; is a quote not closed?"
        self.error = line.error or self.error
        if self.error is not None:
            raise csv.Error(self.error)
        try:
            return line.content.decode() + "\n"
        except UnicodeDecodeError as error:
            # The record continues, since all of its lines belong to the rejected row.
            self.error = not_utf8(error)
            return line.content.decode(errors="replace") + "\n"
