"""Makes the tables of letters, a C header for the compiled reader.

    python -m reranker.text.unicode_tables

Run it with the oldest Python that is supported: each later one knows all its characters, and changes none of them
(https://www.unicode.org/policies/stability_policy.html). Characters that this version of Unicode does not assign are
not covered: C leaves them to Python.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill

import regex

from reranker.text.normalization import REMOVED
from reranker.text.segmentation import UNSPACED_LETTERS

HEADER = Path(__file__).parents[1] / "native" / "text" / "unicode_tables.h"

# All alphabets of today: the scripts after it are written without spaces, are no longer written, or are rare.
_END = 0x3000
_BLOCK = 16
_WIDTH = 117
_FLAGS = ("LETTER", "MARK", "DIGIT", "WORDLIKE", "COMPOSES", "REMOVED", "UNCOVERED")
_UNCOVERED = regex.compile(rf"(?V1)[{UNSPACED_LETTERS}\u1100-\u11ff]")  # and the parts of Hangul syllables
_WORDLIKE = re.compile(r"[^\W\d_]")


def header() -> str:
    """The C header."""
    pairs = set(_compositions())
    seconds = {chr(second) for _, second in pairs}
    records: dict[tuple[int, int, int, int], int] = {}
    numbers = [records.setdefault(_record(chr(code), seconds), len(records)) for code in range(_END)]
    blocks: dict[tuple[int, ...], int] = {}
    pages = [blocks.setdefault(tuple(numbers[start : start + _BLOCK]), len(blocks)) for start in range(0, _END, _BLOCK)]
    lower = sorted(first << 16 | second for first, second in pairs if first < _END and _lower(chr(first)) == chr(first))
    parts = [
        f"/* Letters of Unicode {unicodedata.unidata_version} below U+{_END:04X}. Made by "
        "reranker/text/unicode_tables.py; do not edit. */",
        "enum { " + ", ".join(f"{name} = {1 << place}" for place, name in enumerate(_FLAGS)) + " };",
        f"enum {{ TABLES_END = {_END:#x}, BLOCK = {_BLOCK} }};",
        "/* What is added to a character (modulo 2^16) to make it lower case, or a digit of ASCII; flags;\n"
        " * combining class; that of the last character of its decomposition. */\nstatic const struct record {\n"
        "    uint16_t added;\n    uint8_t flags, combining, trailing;\n} records[] = {",
        _lines(map(_row, records)),
        "};\n/* The block of each 16 characters, and the record of each character of a block. */",
        f"static const uint16_t pages[] = {{\n{_lines(map(str, pages))}\n}};",
        f"static const uint8_t blocks[][BLOCK] = {{\n{_lines(_row(block) for block in blocks)}\n}};",
        "/* letter << 16 | mark: what is one character in NFC. Ascending, letters in lower case. */",
        f"static const uint32_t compositions[] = {{\n{_lines(map(hex, lower))}\n}};",
        "/* Accents, Greek letters, and Greek letters with ancient accents, without their accents; 0 for an accent. */",
        *(_unaccented_letters(page) for page in (0x300, 0x1F00)),
    ]
    return "\n".join(parts) + "\n"


def _lower(letter: str) -> str:
    """One letter in lower case as `normalization.lower_composed` has it."""
    return "i" if letter == "\u0130" else letter.lower().replace("ς", "σ")


def _record(letter: str, seconds: Iterable[str]) -> tuple[int, int, int, int]:
    lower = _lower(letter)
    category = unicodedata.category(lower)
    flags = (
        category[0] == "L",
        category[0] == "M",
        category == "Nd",
        _WORDLIKE.match(lower) is not None,
        lower in seconds,
        ord(lower) in REMOVED,
        category == "Cn" or unicodedata.normalize("NFC", lower) != lower or _UNCOVERED.match(lower) is not None,
    )
    turned_into = ord("0") + unicodedata.decimal(lower) if category == "Nd" else ord(lower)
    number = sum(is_set << place for place, is_set in enumerate(flags))
    trailing = unicodedata.combining(unicodedata.normalize("NFD", lower)[-1])
    return (turned_into - ord(letter)) % 2**16, number, unicodedata.combining(lower), trailing


def _compositions() -> Iterator[tuple[int, int]]:
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and parts[0][0] != "<":
            first, second = (int(part, 16) for part in parts)
            if unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(code):
                yield first, second


def _unaccented_letters(first: int) -> str:
    """What 256 characters are without accents, as `tokens` compares Greek stop words."""
    letters = map(hex, map(_unaccented, range(first, first + 256)))
    return f"static const uint16_t bare_{first:x}[] = {{\n{_lines(letters)}\n}};"


def _unaccented(code: int) -> int:
    found = [ord(one) for one in unicodedata.normalize("NFD", chr(code)) if not 0x300 <= ord(one) < 0x370]
    return 0 if not found else found[0] if len(found) == 1 else code


def _row(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _lines(values: Iterable[str]) -> str:
    """Values one after the other, in lines."""
    return fill(", ".join(values), _WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    HEADER.write_text(header())
