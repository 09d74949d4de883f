"""Asks an engine for two more fields of each hit's `_source`, and takes them out again where the caller did not ask.

Only the fields that Sinkrank's own indices have at the top are asked for in this way: whether a caller's filter lets a
name at the top through is simple to tell, for nested ones it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Names in mappings/: the packed bag of words, and the language that it is in.
BAG_FIELD = "bag"
LANGUAGE_FIELD = "lang"
FIELDS = (BAG_FIELD, LANGUAGE_FIELD)


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """A caller's `_source`.

    Attributes:
        widened: the `_source` to ask for instead; None to leave the caller's as it is.
        is_partial: the answer may lack fields of the document.
        extra: fields to take out of each hit again.
        drop: whether to take `_source` out whole, since the caller asked for none.
    """

    widened: Any = None
    is_partial: bool = False
    extra: tuple[str, ...] = ()
    drop: bool = False

    def restore(self, hit: dict[str, Any]) -> dict[str, Any]:
        """The hit as the caller asked for it."""
        source = hit.get("_source")
        if self.drop:
            return {key: value for key, value in hit.items() if key != "_source"}
        if not self.extra or not isinstance(source, dict):
            return hit
        return {**hit, "_source": {key: value for key, value in source.items() if key not in self.extra}}


def read_source_filter(body: Mapping[str, Any], parameters: Mapping[str, Any]) -> SourceFilter:
    """Reads `_source` of a body, which the URL's `_source…` parameters go before."""
    if any(name in parameters for name in ("_source", "_source_includes", "_source_excludes", "stored_fields")):
        return SourceFilter(is_partial=True)
    if "_source" not in body:
        # `stored_fields` alone switches `_source` off.
        return SourceFilter(is_partial="stored_fields" in body)
    source = body["_source"]
    if source is True or source == "true":
        return SourceFilter()
    if source is False or source == "false":
        return SourceFilter(list(FIELDS), is_partial=True, drop=True)
    if isinstance(source, Mapping):
        includes = _patterns(source.get("includes", source.get("include")))
        excludes = _patterns(source.get("excludes", source.get("exclude")))
    else:
        includes, excludes = _patterns(source), []
    if includes is None or excludes is None:
        return SourceFilter(is_partial=True)  # not a filter that we know: the engine judges it
    return _widen(includes, excludes)


def _widen(includes: list[str], excludes: list[str]) -> SourceFilter:
    extra = tuple(name for name in FIELDS if (includes and not _matches(name, includes)) or _matches(name, excludes))
    kept = [pattern for pattern in excludes if pattern not in FIELDS]
    if any(_matches(name, kept) for name in FIELDS):
        return SourceFilter(is_partial=True)  # a wildcard excludes them; without it, others would come in
    if not extra:
        return SourceFilter(is_partial=True)
    widened: dict[str, list[str]] = {"excludes": kept}
    if includes:
        widened["includes"] = [*includes, *extra]
    return SourceFilter(widened, is_partial=True, extra=extra)


def _patterns(value: Any) -> list[str] | None:
    if value is None:
        return []
    patterns = [value] if isinstance(value, str) else value
    if isinstance(patterns, Sequence) and all(isinstance(one, str) for one in patterns):
        return list(patterns)
    return None


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the engine's patterns, in which `*` stands for any characters, lets the name through."""
    return any(_is_match(pattern, name) for pattern in patterns)


def _is_match(pattern: str, name: str) -> bool:
    # No regular expression: compiling those of a filter as large as a body may be takes a minute.
    start, *parts = pattern.split("*")
    if not parts:
        return pattern == name
    place = len(start) if name.startswith(start) else -1
    for part in parts[:-1]:
        if place >= 0 and (place := name.find(part, place)) >= 0:
            place += len(part)
    return place >= 0 and name.endswith(parts[-1], place)
