"""Reads the `_source` of a search: which fields of each document the caller is to get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

URL_PARAMETERS = ("_source", "_source_includes", "_source_excludes")
# Of an object in a body.
_FILTER_NAMES = frozenset(["includes", "include", "excludes", "exclude"])


@dataclass(frozen=True, slots=True)
class SourceFilter:
    """A caller's `_source`: the names, some of them patterns, that it includes (all where there are none) and
    excludes."""

    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the answer may lack fields of the document."""
        return bool(self.includes or self.excludes)

    def brings(self, fields: Sequence[str]) -> bool:
        """Whether each hit comes for certain with all that its document has of these fields (all fields where none is
        named)."""
        if not self.is_partial:
            return True
        return bool(fields) and all(map(self._brings, fields))

    def _brings(self, field: str) -> bool:
        field = field.removesuffix(".*")
        is_included = not self.includes or any(_is_within(field, name) for name in self.includes)
        return is_included and not any(
            "*" in field + name or _is_within(field, name) or _is_within(name, field) for name in self.excludes
        )


# Of a document without its `_source`, and of a filter that the engine judges.
_NOTHING = SourceFilter(excludes=("*",))


def _is_within(field: str, name: str) -> bool:
    return field == name or field.startswith(f"{name}.")


def read_source_filter(body: Mapping[str, Any], parameters: Mapping[str, str]) -> SourceFilter:
    """Reads `_source` of a body, which the URL's `_source…` parameters go before."""
    if any(name in parameters for name in URL_PARAMETERS):
        return _read(_from_url(parameters))
    if "_source" not in body:
        return _NOTHING if _is_off(body, parameters) else SourceFilter()
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
        return _NOTHING
    if isinstance(source, Mapping):
        # Of a name in both forms the later one counts. Others (`exclude_vectors`) are the engine's to read.
        twice = {"includes", "include"} <= source.keys() or {"excludes", "exclude"} <= source.keys()
        if twice or source.keys() - _FILTER_NAMES:
            return _NOTHING
        includes = _patterns(source.get("includes", source.get("include")))
        excludes = _patterns(source.get("excludes", source.get("exclude")))
    else:
        includes, excludes = _patterns(source), []
    if includes is None or excludes is None:
        return _NOTHING
    return SourceFilter(() if "*" in includes else tuple(includes), tuple(excludes))


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
