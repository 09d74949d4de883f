"""A row of a file, and what reject files hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

# What a row of a reject file holds, beside `values` and `raw_base64` now and then.
REJECT_FIELDS = frozenset({"file", "line", "id", "reason", "raw"})


class Row(NamedTuple):
    """One row of a file. (A named tuple, since millions of them go from one process to another.)

    Attributes:
        line: the first line of the row, from 1; the number of the row where a file has no lines.
        raw: the row as it stands in the file, without its line end; empty where it is no text.
        values: its fields by name; None where they could not be read, or have still to be (`parsing.parse`).
        error: why they could not be read.
        format: of `raw`, of those that `parsing.parse` knows.
    """

    file: str
    line: int
    raw: bytes
    values: Mapping[str, Any] | None = None
    error: str | None = None
    format: str = "jsonl"


def json_type(value: object) -> str:
    """What a JSON value is, in words."""
    for kind, name in ((bool, "a boolean"), (str, "a string"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an object"


def not_utf8(error: UnicodeDecodeError) -> str:
    """What is wrong with bytes that should be UTF-8."""
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1}); save the file as UTF-8"
