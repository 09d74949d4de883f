"""Reads the `_source` of a search: which fields of each document the caller is to get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mappings import RANKING_FIELDS

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
        return not {*excludes} & {*RANKING_FIELDS} and (not includes or {*includes} >= {*RANKING_FIELDS})


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
