"""Finds where the values of a JSON text stand, so that it can be rearranged without being written anew.

A document's numbers, escapes and blanks come to the caller as the engine wrote them: nothing but what has to change is
touched. The values themselves are read by the json module, piece by piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

# By `re`: `regex`, which the other modules use, takes two to seven times as long for what is as short as this.
_BLANKS = " \t\n\r"
_W = r"[ \t\n\r]*"
# A key as it is written, with its colon.
_KEY = rf'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"{_W}:{_W}'
# The first key of an object, or its end; and the next one, or its end.
_first_key = re.compile(rf"{{{_W}(?:{_KEY}|}})").match
_next_key = re.compile(rf"{_W}(?:,{_W}{_KEY}|}})").match
_open_array = re.compile(rf"\[{_W}").match
# What stands behind an element, and the blanks around it.
_array_sign = re.compile(rf"{_W}([,\]]){_W}").match


class Value(NamedTuple):
    """`text[start:end]`, and what it says."""

    start: int
    end: int
    parsed: Any


class Member(NamedTuple):
    """A key, which begins at `start`, and its value, `text[value_start:end]`, which begins with what comes behind the
    colon and its blanks."""

    key: str
    start: int
    value_start: int
    end: int


class RawObject(NamedTuple):
    """`text[start:end]` with its members in their order; a key may come twice.

    Attributes:
        parsed: what it says; of two members of one key the last counts, as in most parsers.
    """

    start: int
    end: int
    members: list[Member]
    parsed: dict[str, Any]

    def member(self, key: str) -> Member | None:
        return next((member for member in reversed(self.members) if member.key == key), None)


class RawArray(NamedTuple):
    start: int
    end: int
    elements: list[Value]


# Made as tuples are: an answer has thousands of them, and the constructor's own call takes as long as reading a value.
_member, _value = Member._make, Value._make

# From a text and the place of a value to what is made of it, and the place behind it.
Reader = Callable[[str, int], tuple[Any, int]]


# A value as Python has it. It raises ValueError where no JSON begins, RecursionError where it is nested too deeply.
read_value: Reader = json.JSONDecoder().raw_decode


class DuplicateKey(ValueError):
    """An object has a key twice; engines refuse that."""


def read_body(text: str) -> RawObject:
    """The body of a search, in which each key of each object comes once.

    A value that is nested too deeply to be read says `TOO_DEEP`.

    Raises:
        DuplicateKey: of an object.
        ValueError: it is no JSON object.
    """
    raw: RawObject = read_document(text, partial(read_object, value=_read_distinct))
    if len(raw.parsed) < len(raw.members):
        raise DuplicateKey
    return raw


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DuplicateKey
    return found


_decode_distinct: Reader = json.JSONDecoder(object_pairs_hook=_distinct).raw_decode
# In place of a value: no key of a search, and no kind of query, is named like that.
TOO_DEEP: Mapping[str, Any] = {"nested too deeply": None}
_string_or_bracket = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]').finditer


def _read_distinct(text: str, at: int) -> tuple[Any, int]:
    try:
        return _decode_distinct(text, at)
    except RecursionError:
        return TOO_DEEP, _end(text, at)


def _end(text: str, at: int) -> int:
    """The place behind the array or object that begins at `at`; only its brackets are looked at."""
    depth = 0
    for found in _string_or_bracket(text, at):
        sign = text[found.start()]
        depth += (sign in "[{") - (sign in "]}")
        if depth == 0:
            return int(found.end())
    raise ValueError(f"the value at {at} does not end")


def read_object(
    text: str, at: int, readers: Mapping[str, Reader] | None = None, value: Reader = read_value
) -> tuple[RawObject, int]:
    """The object that begins at `at`.

    Args:
        readers: for the values of some keys; the others are read by `value`.

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


def cut_object(text: str, at: int, includes: Collection[str], excludes: Collection[str]) -> tuple[str, int]:
    """The text of the object that begins at `at`, with some of its members alone.

    Args:
        includes: their names; all where there are none. `title` stands for `title.en` too.
        excludes: the names of members to leave out of these.

    Raises:
        ValueError, RecursionError: as `read_value`.
    """
    if (found := _first_key(text, at)) is None:
        raise ValueError(f"no object at {at}")
    lead = "" if found[1] is None else text[at + 1 : found.start(1) - 1]
    pieces: list[str] = []
    end = at + 1
    while (key := found[1]) is not None:
        start, before = found.start(1) - 1, end
        begin = found.end()
        end = text.find("]", begin) + 1 if text[begin : begin + 1] == "[" else 0
        # An array of numbers, such as a vector, is not read: its first bracket is its last.
        if not end or text.find('"', begin, end) >= 0 or text.find("[", begin + 1, end) >= 0:
            _, end = read_value(text, begin)
        name = (read_value(text, start)[0] if "\\" in key else key).split(".", 1)[0]
        if name not in excludes and (not includes or name in includes):
            pieces.append(text[before:end] if pieces else lead + text[start:end])
        if (found := _next_key(text, end)) is None:
            raise ValueError(f"neither a key nor }} at {end}")
    tail = text[end : found.end() - 1]
    return f"{{{''.join(pieces)}{tail}}}" if pieces else "{}", found.end()


def read_array(text: str, at: int, reader: Reader = read_value) -> tuple[RawArray, int]:
    """The array that begins at `at`.

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
    """The one value of a whole text.

    Raises:
        ValueError, RecursionError: as `read_value`; or more follows.
    """
    parsed, end = reader(text, len(text) - len(text.lstrip(_BLANKS)))
    if text[end:].strip(_BLANKS):
        raise ValueError(f"more than one JSON value: the first ends at {end}")
    return parsed


def write_object(
    text: str,
    raw: RawObject,
    drop: Collection[str] = (),
    replace: Mapping[str, str] | None = None,
    add: Mapping[str, str] | None = None,
) -> str:
    """An object's text with some members left out, other values in place of some, and members added at the end."""
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
    """An array's text with other elements, set apart as its own are."""
    if not pieces:
        return "[]"
    inner = text[raw.start + 1 : raw.end - 1]
    n_lead, n_tail = len(inner) - len(inner.lstrip(_BLANKS)), len(inner) - len(inner.rstrip(_BLANKS))
    if n_lead == len(inner):
        return f"[{','.join(pieces)}]"
    lead, tail = inner[:n_lead], inner[len(inner) - n_tail :]
    return f"[{lead}{f',{lead}'.join(pieces)}{tail}]"
