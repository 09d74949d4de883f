"""Reads the fields of an index's mapping, with their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TEXT_TYPES = frozenset(["text", "match_only_text", "annotated_text"])
VECTOR_TYPES = frozenset(["knn_vector", "dense_vector", "sparse_vector", "rank_features"])


def mapped_fields(mappings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the definition of each field by its dotted name, without sub-fields (`fields`), which have the same text.

    >>> mapped_fields({"properties": {"a": {"properties": {"b": {"type": "text"}}}, "n": {"type": "long"}}})
    {'a.b': {'type': 'text'}, 'n': {'type': 'long'}}
    """
    return dict(_fields(mappings, ""))


def fields_of_types(mappings: Mapping[str, Any], types: frozenset[str]) -> list[str]:
    """Returns the names of the fields of these types, in the mapping's order."""
    return [name for name, field in mapped_fields(mappings).items() if field.get("type") in types]


def keeps_source(mappings: Mapping[str, Any]) -> bool:
    """Whether an index keeps `_source`; Elasticsearch refuses to name fields of one that is not kept."""
    return bool(mappings.get("_source", {}).get("enabled", True))


def text_fields(mappings: Mapping[str, Any]) -> list[str]:
    """Returns the text fields that a plain query can search. Those of nested documents need a nested query."""
    nested = tuple(f"{name}." for name in fields_of_types(mappings, frozenset(["nested"])))
    return [name for name in fields_of_types(mappings, TEXT_TYPES) if not name.startswith(nested)]


def _fields(mappings: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in mappings.get("properties", {}).items():
        if "properties" in field:
            if field.get("type") == "nested":
                yield f"{prefix}{name}", {"type": "nested"}
            yield from _fields(field, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", dict(field)
