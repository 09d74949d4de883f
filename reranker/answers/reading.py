"""Reads the JSON of an answer into its declaration, by the types of the fields."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from reranker.answers.answer import Answer, Kind, is_required


class NotThisAnswer(ValueError):
    """A value does not fit the declaration; the message names its place."""


def read_answer(kind: type[Kind], value: Any, place: str = "the answer") -> Kind:
    """The answer that a JSON value holds. Keys that the declaration lacks are ignored: a later version may send them.

    Raises:
        NotThisAnswer: a field is missing or of another type.
    """
    if not isinstance(value, Mapping):
        raise NotThisAnswer(f"{place} is no object")
    found = {}
    for name, hint in _hints(kind).items():
        if name in value:
            found[name] = _read(hint, value[name], f"{place}.{name}")
        elif is_required(kind, name):
            raise NotThisAnswer(f"{place} has no {name!r}")
    return kind(**found)


@cache
def _hints(kind: type[Answer]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if not name.startswith("_")}


def _read(hint: Any, value: Any, place: str) -> Any:
    """A value as this type says; a type that no answer uses is an error of ours."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in parts if part is not type(None))
        return None if value is None else _read(inner, value, place)
    if origin is list:
        if not isinstance(value, list):
            raise NotThisAnswer(f"{place} is no list")
        return [_read(parts[0], each, f"{place}[{index}]") for index, each in enumerate(value)]
    if origin is dict:
        if not isinstance(value, dict):
            raise NotThisAnswer(f"{place} is no object")
        return {key: _read(parts[1], each, f"{place}.{key}") for key, each in value.items()}
    if hint is Any:
        return value
    kind = type(parts[0]) if origin is Literal else hint  # a later version may know other values
    if issubclass(kind, Answer):
        return read_answer(kind, value, place)
    if not isinstance(value, (int, float) if kind is float else kind) or (isinstance(value, bool) and kind is not bool):
        raise NotThisAnswer(f"{place} is no {kind.__name__}")
    return value
