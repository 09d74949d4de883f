"""Reads dictionaries of the dictd format: an index of headwords beside a compressed file of entries.

A line of the index is `headword TAB offset TAB length`, with both numbers in base 64 (`man dictfmt`). A fourth field
may give the headword as it is written. The entries are one gzip stream (dictzip only adds an index for random access).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from reranker.base.errors import BadInput

_DIGITS = {
    digit: value for value, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}

# Headwords of the format itself: `00databaseinfo`, `00-database-short`.
_OWN_HEADWORDS = ("00database", "00-database")

# The largest dictionary of FreeDict has 100 MB.
MAX_BYTES = 1 << 29

# What is in the cache is not fetched.
_FETCH_AGAIN = "delete its folder and fetch it again"


def number(digits: str) -> int:
    """A number of the index, the most significant digit first.

    Raises:
        ValueError: no digit, or a character that is not a digit.

    >>> number("A"), number("BC"), number("/")
    (0, 66, 63)
    """
    if not digits:
        raise ValueError("a number without a digit")
    value = 0
    for digit in digits:
        if digit not in _DIGITS:
            raise ValueError(f"{digit!r} is not a digit in base 64")
        value = value * 64 + _DIGITS[digit]
    return value


def read_entries(index: Path, entries: Path) -> Iterator[tuple[str, str]]:
    """Every headword with its text, in the order of the index, without the format's own headwords.

    Raises:
        BadInput: a file is missing or damaged; the message names it, and the line of the index.
    """
    text = _unpacked(entries)
    try:
        lines = index.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{index} cannot be read: {error}; {_FETCH_AGAIN}") from error
    for line_number, line in enumerate(lines, start=1):
        headword, *places = line.split("\t")
        if headword.startswith(_OWN_HEADWORDS):
            continue
        try:
            start, length = number(places[0]), number(places[1])
        except (ValueError, IndexError) as error:
            raise BadInput(
                f"line {line_number} of {index} is not `headword TAB offset TAB length` ({error}); {_FETCH_AGAIN}"
            ) from error
        if start + length > len(text):
            raise BadInput(
                f"line {line_number} of {index} points beyond the end of {entries} ({start + length} of {len(text)} "
                f"bytes), so the files belong to different dictionaries; {_FETCH_AGAIN}"
            )
        yield headword, text[start : start + length].decode("utf-8", errors="replace")


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path} cannot be unpacked: {error}; {_FETCH_AGAIN}") from error
    if len(text) > MAX_BYTES:
        raise BadInput(f"{path} unpacks to more than {MAX_BYTES >> 20} MiB; so it is not a dictionary of FreeDict")
    return text
