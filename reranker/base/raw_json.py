"""Parses JSON with the position of each member and element, so that a text can be edited in place.

A caller gets a document's numbers, escapes and whitespace as the engine wrote them; only what must change is replaced.
The json module parses the single values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

# `re`, because `regex`, which the other modules use, takes two to seven times as long for such short matches.
_BLANKS = " \t\n\r"
_W = r"[ \t\n\r]*"
# A key with its quotes, its colon and the whitespace around the colon.
_KEY = rf'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"{_W}:{_W}'
# Match the first or the next key of an object, or its closing brace.
_first_key = re.compile(rf"{{{_W}(?:{_KEY}|}})").match
_next_key = re.compile(rf"{_W}(?:,{_W}{_KEY}|}})").match
_open_array = re.compile(rf"\[{_W}").match
# The comma or bracket after an element, with the whitespace around it.
_array_sign = re.compile(rf"{_W}([,\]]){_W}").match


class Value(NamedTuple):
    """An array element: its text is `text[start:end]`."""

    start: int
    end: int
    parsed: Any


class Member(NamedTuple):
    """A member of an object: its key begins at `start`, and its value is `text[value_start:end]`."""

    key: str
    start: int
    value_start: int
    end: int


class RawObject(NamedTuple):
    """An object: its text is `text[start:end]`. The members are in the order of the text; a key may be repeated.

    Attributes:
        parsed: its values by key. If a key is repeated, the last value counts, as in most parsers.
    """

    start: int
    end: int
    members: list[Member]
    parsed: dict[str, Any]

    def member(self, key: str) -> Member | None:
        return next((member for member in reversed(self.members) if member.key == key), None)


class RawArray(NamedTuple):
    """An array: its text is `text[start:end]`."""

    start: int
    end: int
    elements: list[Value]


# Faster than the constructors, whose call takes as long as parsing a value; an answer has thousands of them.
_member, _value = Member._make, Value._make

# Parses the value at a position of a text. Returns it, and the position after it.
Reader = Callable[[str, int], tuple[Any, int]]


# Parses a value into Python's types. Raises ValueError if there is no JSON, RecursionError if it is nested too deeply.
read_value: Reader = json.JSONDecoder().raw_decode


class DuplicateKey(ValueError):
    """An object repeats a key, which engines refuse."""


def read_body(text: str) -> RawObject:
    """Parses the body of a search.

    Raises:
        DuplicateKey: an object repeats a key.
        ValueError: the text is not a JSON object.
        RecursionError: it is nested too deeply.
    """
    raw: RawObject = read_document(text, partial(read_object, value=_decode_distinct))
    if len(raw.parsed) < len(raw.members):
        raise DuplicateKey
    return raw


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DuplicateKey
    return found


_decode_distinct: Reader = json.JSONDecoder(object_pairs_hook=_distinct).raw_decode


def read_object(
    text: str, at: int, readers: Mapping[str, Reader] | None = None, value: Reader = read_value
) -> tuple[RawObject, int]:
    """Parses the object that begins at `at`.

    Args:
        readers: parse the values of these keys.
        value: parses the other values.

    Raises:
        ValueError, RecursionError: as `read_value`.
    """
    if (found := _first_key(text, at)) is None:
        raise ValueError(f"no object at {at}")
    readers = readers or {}
    members: list[Member] = []
    parsed: dict[str, Any] = {}
    while (key := found[1]) is not None:
        start, begin = found.start(1) - 1, found.end()
        if "\\" in key:
            key, _ = read_value(text, start)
        parsed[key], end = readers[key](text, begin) if key in readers else value(text, begin)
        members.append(_member((key, start, begin, end)))
        if (found := _next_key(text, end)) is None:
            raise ValueError(f"neither a key nor }} at {end}")
    end = found.end()
    return RawObject(at, end, members, parsed), end


def skip_value(text: str, at: int) -> tuple[None, int]:
    """As `read_value`, for a value that nobody needs: an array of numbers in an object, such as a vector, is not
    parsed."""
    if (found := _first_key(text, at)) is None:
        return None, read_value(text, at)[1]
    while found[1] is not None:
        begin = found.end()
        end = text.find("]", begin) + 1 if text[begin : begin + 1] == "[" else 0
        # Such an array ends at its first closing bracket.
        if not end or text.find('"', begin, end) >= 0 or text.find("[", begin + 1, end) >= 0:
            _, end = read_value(text, begin)
        if (found := _next_key(text, end)) is None:
            raise ValueError(f"neither a key nor }} at {end}")
    return None, found.end()


def read_array(text: str, at: int, reader: Reader = read_value) -> tuple[RawArray, int]:
    """Parses the array that begins at `at`; `reader` parses its elements.

    Raises:
        ValueError, RecursionError: as `read_value`.
    """
    if (opening := _open_array(text, at)) is None:
        raise ValueError(f"no array at {at}")
    start, at = at, opening.end()
    elements: list[Value] = []
    if text[at : at + 1] == "]":
        return RawArray(start, at + 1, elements), at + 1
    while True:
        parsed, end = reader(text, at)
        elements.append(_value((at, end, parsed)))
        if (sign := _array_sign(text, end)) is None:
            raise ValueError(f"neither a comma nor ] at {end}")
        at = sign.end()
        if sign[1] == "]":
            at = sign.end(1)
            return RawArray(start, at, elements), at


def read_document(text: str, reader: Reader) -> Any:
    """Parses a whole text, which is one value.

    Raises:
        ValueError, RecursionError: as `read_value`; ValueError also if more text follows the value.
    """
    parsed, end = reader(text, len(text) - len(text.lstrip(_BLANKS)))
    if text[end:].strip(_BLANKS):
        raise ValueError(f"more than one JSON value: the first ends at {end}")
    return parsed


def write_value(value: Any) -> str:
    """A value that was parsed out of JSON as compact JSON."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair, or a number beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_object(
    text: str,
    raw: RawObject,
    drop: Collection[str] = (),
    replace: Mapping[str, str] | None = None,
    add: Mapping[str, str] | None = None,
) -> str:
    """An object's text without some members, with new values for others, and with new members at the end.

    Args:
        drop: the keys of the members to leave out.
        replace: new values, as JSON, by key.
        add: new members: their values, as JSON, by key.
    """
    replace = replace or {}
    lead = text[raw.start + 1 : raw.members[0].start] if raw.members else ""
    pieces: list[str] = []
    end = raw.start + 1
    for member in raw.members:
        if member.key not in drop:
            apart = text[end : member.start] if pieces else lead
            value = replace.get(member.key, text[member.value_start : member.end])
            pieces.append(apart + text[member.start : member.value_start] + value)
        end = member.end
    if add:
        first = _first_key(text, raw.start) if raw.members else None
        colon = ":" if first is None else text[first.end(1) + 1 : first.end()]
        for key, value in add.items():
            pieces.append(f"{f',{lead}' if pieces else lead}{json.dumps(key)}{colon}{value}")
    tail = text[end : raw.end - 1] if raw.members else ""
    return f"{{{''.join(pieces)}{tail}}}" if pieces else "{}"


def write_array(text: str, raw: RawArray, pieces: Sequence[str]) -> str:
    """An array's text with other elements (`pieces`, as JSON), and the whitespace of its own."""
    inner = text[raw.start + 1 : raw.end - 1]
    if not pieces:
        return "[]" if inner.strip(_BLANKS) else f"[{inner}]"
    n_lead, n_tail = len(inner) - len(inner.lstrip(_BLANKS)), len(inner) - len(inner.rstrip(_BLANKS))
    if n_lead == len(inner):
        return f"[{','.join(pieces)}]"
    lead, tail = inner[:n_lead], inner[len(inner) - n_tail :]
    return f"[{lead}{f',{lead}'.join(pieces)}{tail}]"
