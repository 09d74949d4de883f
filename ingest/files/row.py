"""A row of a file, and the names of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reranker.base.errors import BadInput

# The fields of a row of a reject file, except the optional `values` and `format`.
REJECT_FIELDS = frozenset({"file", "line", "id", "reason", "raw"})


class Row(NamedTuple):
    """One row of a file. (A named tuple, since millions are sent between processes.)

    Attributes:
        line: the first line of the row, from 1; the number of the row if the file has no lines.
        raw: the row as in the file, without its line end; empty if it is not text.
        values: its fields by name; None if they could not be read or are not parsed yet (`reading.parse`). A row of CSV
            that could not be read has its columns, without values, and a page its id.
        error: why they could not be read.
        format: format of `raw`, one that `reading.parse` knows; empty if `values` are not to be parsed from it.
    """

    file: str
    line: int
    raw: bytes
    values: Mapping[str, Any] | None = None
    error: str | None = None
    format: str = "jsonl"


def check_columns(file: str, names: Iterable[str]) -> list[str]:
    """Returns the names of the columns.

    Raises:
        BadInput: a name is repeated.
    """
    n_times = Counter(names)
    for name, n in n_times.items():
        if n > 1:
            raise BadInput(f"{file} has the column {name!r} twice; give each column one name")
    return list(n_times)


def json_type(value: object) -> str:
    """The name of a JSON value's type."""
    for kind, name in ((bool, "a boolean"), (str, "a string"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an object"


def not_utf8(error: UnicodeDecodeError) -> str:
    """What is wrong with bytes that should be UTF-8."""
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1}); save the file as UTF-8"
