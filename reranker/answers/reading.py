"""Reads the JSON of an answer into its declaration, by the types of the fields."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from reranker.answers.answer import Answer, Kind, is_required

_Reader = Callable[[Any, str], Any]


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
    for name, read in _readers(kind).items():
        if name in value:
            found[name] = read(value[name], f"{place}.{name}")
        elif is_required(kind, name):
            raise NotThisAnswer(f"{place} has no {name!r}")
    return kind(**found)


@cache
def _readers(kind: type[Answer]) -> dict[str, _Reader]:
    return {name: _reader(hint) for name, hint in get_type_hints(kind).items() if not name.startswith("_")}


def _reader(hint: Any) -> _Reader:
    """How a value of this type is read; a type that no answer uses is an error of ours."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in parts if part is not type(None))
        return _optional(_reader(inner))
    if origin is list:
        return _list(_reader(parts[0]))
    if origin is dict:
        return _object(_reader(parts[1]))
    if origin is Literal:
        return _scalar(type(parts[0]))  # a later version may know other values
    if hint is Any:
        return lambda value, _: value
    if issubclass(hint, Answer):
        return lambda value, place: read_answer(hint, value, place)
    return _scalar(hint)


def _optional(read: _Reader) -> _Reader:
    return lambda value, place: None if value is None else read(value, place)


def _list(read: _Reader) -> _Reader:
    def read_list(value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise NotThisAnswer(f"{place} is no list")
        return [read(each, f"{place}[{index}]") for index, each in enumerate(value)]

    return read_list


def _object(read: _Reader) -> _Reader:
    def read_object(value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise NotThisAnswer(f"{place} is no object")
        return {key: read(each, f"{place}.{key}") for key, each in value.items()}

    return read_object


def _scalar(kind: type) -> _Reader:
    accepted = (int, float) if kind is float else kind

    def read_scalar(value: Any, place: str) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise NotThisAnswer(f"{place} is no {kind.__name__}")
        return value

    return read_scalar
