"""Applies an engine's `filter_path` to an answer that was re-ranked, by the engine's own rules.

The engine itself cannot be asked to: what is filtered out is what re-ranking reads. A path is parted by dots; `*`
stands for a part of a name, `**` for one or more names; `-` before a path takes it out. Lists are looked through. What
is filtered out takes the objects and lists that it leaves empty along.
"""

from __future__ import annotations

from collections.abc import Sequence

from reranker.proxy.raw_json import RawArray, RawObject, read_array, read_object, read_value
from reranker.proxy.source_filter import is_match

Path = tuple[str, ...]

_MAX_DEPTH = 100
_INDENT = "  "


class FilterPath:
    """A `filter_path`.

    Args:
        value: the parameter, unescaped.
        keeps_empty: Elasticsearch keeps empty lists where paths are taken out; OpenSearch drops them.
        is_pretty: whether the answer is written over several lines.
    """

    def __init__(self, value: str, keeps_empty: bool, is_pretty: bool) -> None:
        paths = [path.strip() for path in value.split(",") if path.strip()]
        self._excludes: list[Path] = [tuple(path[1:].split(".")) for path in paths if path.startswith("-")]
        self._includes: list[Path] = [tuple(path.split(".")) for path in paths if not path.startswith("-")]
        self._keeps_empty = keeps_empty
        self._is_pretty = is_pretty

    def apply(self, text: str) -> str:
        """The filtered answer.

        Raises:
            ValueError, RecursionError: the text is no JSON.
        """
        tail = "\n" if self._is_pretty and text.endswith("\n") else ""
        text = text.strip()
        empty = self._written([], "{}", 0)
        if self._excludes:
            text = self._taken_out(text, self._excludes, 0) or empty
        if self._includes:
            text = self._taken_in(text, self._includes, 0) or empty
        return text + tail

    def _taken_in(self, text: str, paths: Sequence[Path], depth: int) -> str | None:
        """A value with only what is at the paths; None where nothing is."""
        value = _read(text, depth)
        if isinstance(value, RawArray):
            found = [self._taken_in(text[element.start : element.end], paths, depth + 1) for element in value.elements]
            kept = [one for one in found if one is not None]
            return self._written(kept, "[]", depth) if kept else None
        if not isinstance(value, RawObject):
            return None
        members = []
        for member in value.members:
            inner = text[member.value_start : member.end]
            is_whole, below = _step(member.key, paths)
            piece = inner if is_whole else self._taken_in(inner, below, depth + 1) if below else None
            if piece is not None:
                members.append(text[member.start : member.value_start] + piece)
        return self._written(members, "{}", depth) if members else None

    def _taken_out(self, text: str, paths: Sequence[Path], depth: int) -> str | None:
        """A value without what is at the paths; None where that leaves nothing."""
        value = _read(text, depth)
        if isinstance(value, RawArray):
            found = [self._taken_out(text[element.start : element.end], paths, depth + 1) for element in value.elements]
            kept = [one for one in found if one is not None]
            if not kept and not (self._keeps_empty and not value.elements):
                return None
            return self._written(kept, "[]", depth)
        if not isinstance(value, RawObject):
            return text
        members = []
        for member in value.members:
            inner = text[member.value_start : member.end]
            is_whole, below = _step(member.key, paths)
            piece = None if is_whole else self._taken_out(inner, below, depth + 1) if below else inner
            if piece is not None:
                members.append(text[member.start : member.value_start] + piece)
        if not members and not (self._keeps_empty and not value.members):
            return None
        return self._written(members, "{}", depth)

    def _written(self, pieces: Sequence[str], brackets: str, depth: int) -> str:
        if not self._is_pretty:
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


def _read(text: str, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise ValueError(f"the answer is nested more than {_MAX_DEPTH} deep")
    if text[:1] == "{":
        return read_object(text, 0)[0]
    if text[:1] == "[":
        return read_array(text, 0)[0]
    return read_value(text, 0)[0]
