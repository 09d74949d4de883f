"""Cuts an answer of the engine down to what the `filter_path` of a search includes."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from reranker.base.raw_json import RawArray, RawObject, read_array, read_object, read_value
from reranker.query_dsl.name_patterns import is_match

Path = tuple[str, ...]

_MAX_PATHS = 20
_MAX_DEPTH = 100
_INDENT = "  "
_POINT = regex.compile(r"(?<!\\)\.")


def reads_filter_path(value: str) -> bool:
    """Whether all paths of a `filter_path` are included, and few enough: each name of an answer is compared with each
    path, so that with more of them a request could choose how long that takes."""
    paths = _paths(value)
    return len(paths) <= _MAX_PATHS and not any(path[0].startswith("-") for path in paths)


def filtered_answer(text: str, value: str, is_pretty: bool) -> str:
    """An answer with only what is at the paths of a `filter_path`.

    Args:
        value: the parameter, unescaped.
        is_pretty: whether the answer is written over several lines.

    Raises:
        ValueError, RecursionError: the text is no JSON.
    """
    paths = _paths(value)
    if not paths:
        return text
    tail = "\n" if is_pretty and text.endswith("\n") else ""
    return (_filtered(text.strip(), paths, 0, is_pretty) or _written([], "{}", 0, is_pretty)) + tail


def _paths(value: str) -> list[Path]:
    # A point in a name is escaped: `aggregations.a\.b`.
    parts = [_POINT.split(path.strip()) for path in value.split(",") if path.strip()]
    return [tuple(part.replace("\\.", ".") for part in path) for path in parts]


def _filtered(text: str, paths: Sequence[Path], depth: int, is_pretty: bool) -> str | None:
    """A value with only what is at the paths; None where nothing is left."""
    value = _read_any(text, depth)
    pieces = []
    if isinstance(value, RawArray):
        for element in value.elements:
            pieces.append(_filtered(text[element.start : element.end], paths, depth + 1, is_pretty))
    elif isinstance(value, RawObject):
        for member in value.members:
            inner: str | None = text[member.value_start : member.end]
            is_whole, below = _step(member.key, paths)
            if not is_whole:
                inner = _filtered(str(inner), below, depth + 1, is_pretty) if below else None
            pieces.append(None if inner is None else text[member.start : member.value_start] + inner)
    remaining = [piece for piece in pieces if piece is not None]
    return _written(remaining, "[]" if isinstance(value, RawArray) else "{}", depth, is_pretty) if remaining else None


def _written(pieces: Sequence[str], brackets: str, depth: int, is_pretty: bool) -> str:
    if not is_pretty:
        return brackets[0] + ",".join(pieces) + brackets[1]
    if not pieces:
        return " ".join(brackets)
    inner, outer = "\n" + _INDENT * (depth + 1), "\n" + _INDENT * depth
    return brackets[0] + ",".join(inner + piece for piece in pieces) + outer + brackets[1]


def _step(name: str, paths: Sequence[Path]) -> tuple[bool, list[Path]]:
    """Whether a path ends at a name, and what is left of those that lead through it."""
    below: list[Path] = []
    for path in paths:
        if not is_match(path[0], name):
            continue
        if len(path) == 1:
            return True, []
        below.append(path[1:])
        if path[0] == "**":
            below.append(path)
    return False, list(dict.fromkeys(below))


def _read_any(text: str, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise ValueError(f"the answer is nested more than {_MAX_DEPTH} deep")
    if text[:1] == "{":
        return read_object(text, 0)[0]
    if text[:1] == "[":
        return read_array(text, 0)[0]
    return read_value(text, 0)[0]
