"""Turns JSONL and CSV files, plain or gzipped, into rows; one that cannot be read comes out with its reason."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from reranker.errors import BadInput, NotFound, WrongParameter

STDIN = "-"
FORMATS = ("jsonl", "csv", "tsv")

# What a row of a reject file holds, beside `raw_base64` now and then.
REJECT_FIELDS = frozenset({"file", "line", "id", "reason", "raw"})

# Far above any text of 500 words, far below what would strain memory; one bulk request to an engine ends at 100 MB.
MAX_ROW_BYTES = 16 * 2**20
# What is shown of a row that is longer; the row itself stays in its file.
_SHOWN_BYTES = 1_000

_FORMAT_OF_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: where it lies, the name to show for it, and one of `FORMATS`."""

    path: Path
    name: str
    format: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file.

    Attributes:
        line: the first line of the row, from 1.
        raw: the row as it stands in the file, without its line end.
        values: its fields by name; None where it could not be read.
        error: why it could not be read.
    """

    file: str
    line: int
    raw: bytes
    values: Mapping[str, Any] | None
    error: str | None = None


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


def read_rows(source: Source) -> Iterator[Row]:
    """The rows of a file, as a stream; empty lines are skipped.

    Raises:
        BadInput: a CSV file without a usable header.
    """
    yield from _read_jsonl(source) if source.format == "jsonl" else _read_csv(source)


def read_header(source: Source) -> list[str] | None:
    """The column names of a CSV file; None for JSONL, where each row names its own fields.

    Raises:
        BadInput: the file is empty, its first row cannot be read, or a name stands in it twice.
    """
    if source.format == "jsonl":
        return None
    with _open(source.path) as file:
        return _header(_Records(file, source))


def _read_jsonl(source: Source) -> Iterator[Row]:
    with _open(source.path) as file:
        for line in _lines(file):
            if line.error is not None:
                yield Row(source.name, line.number, line.content, None, line.error)
            elif line.content.strip():
                values, error = _parse_object(line.content, first=line.number == 1)
                yield Row(source.name, line.number, line.content, values, error)


def _parse_object(content: bytes, first: bool) -> tuple[Mapping[str, Any] | None, str | None]:
    """The fields of a JSON line, or why there are none."""
    try:
        text = content.decode()
        value = json.loads(text.removeprefix(_BYTE_ORDER_MARK) if first else text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return None, _not_utf8(error)
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON that can be read: {error}"
    if not isinstance(value, dict):
        return None, f"the line holds {json_type(value)}, not an object; write one document a line"
    if b"\\u" in content and not _is_unicode(value):
        return None, "a string holds half a surrogate pair (\\ud800 to \\udfff), which is no character; mend or drop it"
    return value, None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_unicode(value: Mapping[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def json_type(value: object) -> str:
    """What a JSON value is, in words."""
    for kind, name in ((bool, "a boolean"), (str, "a string"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an object"


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1}); save the file as UTF-8"


def _read_csv(source: Source) -> Iterator[Row]:
    with _open(source.path) as file:
        records = _Records(file, source)
        header = _header(records)
        for cells, error in records:
            if error is None and not cells:
                continue
            if error is None and len(cells) != len(header):
                error = f"the row has {len(cells)} columns, the header {len(header)}; check commas and quotes"
            values = None if error else dict(zip(header, cells, strict=True))
            yield Row(source.name, records.line, records.raw, values, error)


def _header(records: _Records) -> list[str]:
    name = records.source.name
    for cells, error in records:
        if error is not None:
            raise BadInput(f"{name}, line {records.line}: {error}; the first row must name the columns")
        if cells:
            header = [cell.strip() for cell in cells]
            header[0] = header[0].removeprefix(_BYTE_ORDER_MARK)
            repeated = {column for column in header if header.count(column) > 1}
            if repeated:
                raise BadInput(f"{name} has the column {min(repeated)!r} twice; give each column one name")
            return header
    raise BadInput(f"{name} is empty; the first row must name the columns (id, language, title, text, …)")


class _Records:
    """The records of a CSV file, each as its cells or the reason why there are none; remembers where each came from.

    Attributes:
        line: first line of the latest record.
        raw: the latest record as it stands in the file.
    """

    def __init__(self, file: BinaryIO, source: Source) -> None:
        self.source = source
        self._lines = _RecordLines(file)
        csv.field_size_limit(MAX_ROW_BYTES)  # the module's own limit, 128 kB, is the length of a long article
        # Strict, so that a stray quote is an error and does not change the text unseen.
        self._reader = csv.reader(self._lines, delimiter=_DELIMITERS[source.format], strict=True)

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


class _RecordLines:
    """Feeds lines to the CSV parser and keeps those of the record at hand; an error ends the record, not the file (a
    generator could not go on after it)."""

    def __init__(self, file: BinaryIO) -> None:
        self._lines = iter(_lines(file))
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
        if self._size > MAX_ROW_BYTES:
            self.error = f"the row is longer than {MAX_ROW_BYTES:,} bytes; is a quote left open?"
        self.error = line.error or self.error
        if self.error is not None:
            raise csv.Error(self.error)
        try:
            return line.content.decode() + "\n"
        except UnicodeDecodeError as error:
            # The record goes on: it may have more lines, and all of them belong to the rejected row.
            self.error = _not_utf8(error)
            return line.content.decode(errors="replace") + "\n"


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    content: bytes
    error: str | None = None


def _lines(file: BinaryIO) -> Iterable[_Line]:
    """The lines of a file without their ends; a file that breaks off (gzip) ends in a line with an error."""
    number = 0
    try:
        while content := file.readline(MAX_ROW_BYTES + 1):
            number += 1
            if len(content) > MAX_ROW_BYTES and not content.endswith(b"\n"):
                while (more := file.readline(2**20)) and not more.endswith(b"\n"):
                    pass
                yield _Line(number, content[:_SHOWN_BYTES], _too_long())
            else:
                yield _Line(number, content.rstrip(b"\r\n"))
    except (EOFError, zlib.error, OSError) as error:
        yield _Line(number + 1, b"", f"the file cannot be read from here on ({error}); fetch or write it again")


def _too_long() -> str:
    return f"the line is longer than {MAX_ROW_BYTES:,} bytes; only its beginning is kept here"


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    try:
        raw = path.open("rb")
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from error
    with raw:
        if raw.peek(2)[:2] == _GZIP_MAGIC:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield raw
