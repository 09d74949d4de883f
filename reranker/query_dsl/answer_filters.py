"""The caller's filters of an answer: `_source`, and `filter_path`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reranker.base.raw_json import RawArray, RawObject, read_array, read_object, read_value

# Names in mappings/: the packed bag of words, the language that it is in, the id, the keys of title and short text.
BAG_FIELD = "bag"
LANGUAGE_FIELD = "lang"
ID_FIELD = "doc_id"
KEY_FIELDS = {"title": "title_key", "text": "text_key"}
FIELDS = (BAG_FIELD, LANGUAGE_FIELD, ID_FIELD, *KEY_FIELDS.values())

URL_PARAMETERS = ("_source", "_source_includes", "_source_excludes")
# Of an object in a body.
_FILTER_NAMES = frozenset(["includes", "include", "excludes", "exclude"])


PlainFilter = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of members of a document that are included (all where there are none), and excluded."""


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """A caller's `_source`.

    Attributes:
        is_partial: the answer may lack fields of the document.
        brought: the fields that the caller names, where he excludes none.
        plain: what is included and excluded, where each is the name of a member of the document. Then whole members
            are kept or left out, and the engine's rules for patterns and for what lies deeper do not count.
    """

    is_partial: bool = False
    brought: tuple[str, ...] = ()
    plain: PlainFilter | None = None

    def brings(self, fields: Sequence[str]) -> bool:
        """Whether each hit comes with all that its document has of these fields (all fields where none is named)."""
        if not self.is_partial:
            return True
        return bool(fields) and all(
            any(field == name or field.startswith(f"{name}.") for name in self.brought) for field in fields
        )

    @property
    def brings_bags(self) -> bool:
        """Whether each hit of an index that Sinkrank made comes with its bag of words, as with `excludes: nbow`."""
        if not self.is_partial or self.plain is None:
            return not self.is_partial
        includes, excludes = self.plain
        return not {*excludes} & {*FIELDS} and (not includes or {*includes} >= {*FIELDS})


def read_source_filter(body: Mapping[str, Any], parameters: Mapping[str, str]) -> SourceFilter:
    """Reads `_source` of a body, which the URL's `_source…` parameters go before."""
    if any(name in parameters for name in URL_PARAMETERS):
        return _read(_from_url(parameters))
    if "_source" not in body:
        return SourceFilter(is_partial=_is_off(body, parameters))
    return _read(body["_source"])


def _is_off(body: Mapping[str, Any], parameters: Mapping[str, str]) -> bool:
    """Whether a search without `_source` brings none: other fields that it asks for, without it, switch it off."""
    if "stored_fields" in parameters:
        return "_source" not in _listed(parameters["stored_fields"])
    if "stored_fields" in body:
        return "_source" not in (_patterns(body["stored_fields"]) or [])
    return "script_fields" in body


def _read(source: Any) -> SourceFilter:
    if source is True or source == "true":
        return SourceFilter()
    if source is False or source == "false":
        return SourceFilter(is_partial=True)
    if isinstance(source, Mapping):
        # Of a name in both forms the later one counts. Others (`exclude_vectors`) are the engine's to read.
        twice = {"includes", "include"} <= source.keys() or {"excludes", "exclude"} <= source.keys()
        if twice or source.keys() - _FILTER_NAMES:
            return SourceFilter(is_partial=True)
        includes = _patterns(source.get("includes", source.get("include")))
        excludes = _patterns(source.get("excludes", source.get("exclude")))
    else:
        includes, excludes = _patterns(source), []
    if includes is None or excludes is None:
        return SourceFilter(is_partial=True)  # not a filter that we know: the engine judges it
    if not excludes and (not includes or "*" in includes):
        return SourceFilter()
    brought = () if excludes else tuple(name for name in includes if "*" not in name)
    plain = (tuple(includes), tuple(excludes)) if all(map(str.isidentifier, (*includes, *excludes))) else None
    return SourceFilter(is_partial=True, brought=brought, plain=plain)


def _from_url(parameters: Mapping[str, str]) -> Any:
    """The URL's filter as a body would write it."""
    source = parameters.get("_source")
    if source == "false":
        return False
    includes = None if source in (None, "true") else source
    includes = parameters.get("_source_includes", includes)
    return {"includes": _listed(includes), "excludes": _listed(parameters.get("_source_excludes"))}


def _listed(value: str | None) -> list[str]:
    return [name for name in (value or "").split(",") if name]


def _patterns(value: Any) -> list[str] | None:
    if value is None:
        return []
    patterns = [value] if isinstance(value, str) else value
    if isinstance(patterns, Sequence) and all(isinstance(one, str) for one in patterns):
        return list(patterns)
    return None


def is_match(pattern: str, name: str) -> bool:
    """Whether a pattern of the engine's, in which `*` stands for any characters, fits the whole name.

    >>> is_match("ti*e", "title"), is_match("ti*", "subtitle")
    (True, False)
    """
    # No regular expression: compiling those of a filter as large as a body may be takes a minute.
    start, *parts = pattern.split("*")
    if not parts:
        return pattern == name
    place = len(start) if name.startswith(start) else -1
    for part in parts[:-1]:
        if place >= 0 and (place := name.find(part, place)) >= 0:
            place += len(part)
    return place >= 0 and name.endswith(parts[-1], place)


Path = tuple[str, ...]

_MAX_PATHS = 20
_MAX_DEPTH = 100
_INDENT = "  "


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
    return [tuple(path.strip().split(".")) for path in value.split(",") if path.strip()]


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
