"""A row of a file, and what reject files hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What a row of a reject file holds, beside `raw_base64` now and then.
REJECT_FIELDS = frozenset({"file", "line", "id", "reason", "raw"})

BYTE_ORDER_MARK = "\ufeff"


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


def json_type(value: object) -> str:
    """What a JSON value is, in words."""
    for kind, name in ((bool, "a boolean"), (str, "a string"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an object"


def not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1}); save the file as UTF-8"
