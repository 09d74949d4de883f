"""Turns the hits of any engine's index into rows that ingest reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from ingest.documents import Layout
from reranker.base.errors import BadInput, NotFound
from reranker.stores.engine.fields import keeps_source, mapped_fields
from reranker.stores.engine.hits import read_document

_INTEGERS = ("long", "integer", "short", "byte", "unsigned_long")
_NUMBERS = ("double", "float", "half_float", "scaled_float")
# Types that filters support, each with the types of its values. Texts and vectors are not copied as metadata.
_METADATA_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("keyword", "constant_keyword", "date", "ip"), (str,)),
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(_NUMBERS, (int, float)),
    "boolean": (bool,),
}
_TEXT_TYPES = frozenset({"text", "match_only_text", "keyword", "constant_keyword"})
# The first formats by which an engine writes a date as a number since 1970, with their units.
_EPOCH_UNITS = {"epoch_second": timedelta(seconds=1), "epoch_millis": timedelta(milliseconds=1)}
_EPOCH = datetime(1970, 1, 1)


class HitReader(NamedTuple):
    """Turns hits into rows.

    Attributes:
        fields: fields of `_source` to read.
        mapped: those to read as the engine has mapped them, too (`fields` of a search).
        row: the row of a hit.
    """

    fields: list[str]
    mapped: list[str]
    row: Callable[[Mapping[str, Any]], dict[str, Any]]


def row_reader(mapping: Mapping[str, Any], layout: Layout, name: str) -> HitReader:
    """The reader of an index with this mapping.

    Args:
        layout: fields of an index that Sinkrank did not make.
        name: name of the index for messages.

    Raises:
        NotFound: the index has no fields.
        BadInput: the index has none of the named text fields, or neither a text nor a title, or keeps no `_source`.
    """
    if "sinkrank" in mapping.get("_meta", {}):
        return HitReader(["lang", "title", "text", "url", "metadata"], [], _own_row)
    found_fields = mapped_fields(mapping)
    types = {name: field["type"] for name, field in found_fields.items() if "type" in field}
    if not types:
        raise NotFound(f"{name} has no fields; check the name of the index")
    if not keeps_source(mapping):
        raise BadInput(
            f"{name} keeps no `_source`, which documents are read from; ingest the files that it was made of"
        )
    texts = [name for names in layout.text_fields for name in names.split(",")]
    parts = {
        "text": [name.strip() for name in texts if name.strip() in types],
        "title": [name for name in layout.title_fields if name in types][:1],
        "language": [name for name in layout.language_fields if name in types][:1],
        "url": [layout.url_field] if layout.url_field in types else [],
    }
    if layout.text_field is None:
        parts["text"] = parts["text"][:1]
    if not parts["text"] and (layout.text_field or not parts["title"]):
        found = ", ".join(sorted(name for name, kind in types.items() if kind in _TEXT_TYPES)) or "none"
        raise BadInput(
            f"{name} has no field {texts[0]!r}; name the fields of the text with --text-field (it has {found})"
        )
    taken = {name for names in parts.values() for name in names}
    metadata = {name: kind for name, kind in types.items() if kind in _METADATA_TYPES and name not in taken}
    formats = {name: found_fields[name].get("format", "").partition("||")[0] for name in metadata}
    units = {name: _EPOCH_UNITS[form] for name, form in formats.items() if form in _EPOCH_UNITS}
    return HitReader([*taken, *metadata], [*metadata], partial(_foreign_row, parts, metadata, units))


def _own_row(hit: Mapping[str, Any]) -> dict[str, Any]:
    document = read_document(hit)
    return {
        "id": document.doc_id,
        "language": document.language,
        "title": document.title,
        "text": document.text,
        "url": document.url,
        "metadata": dict(document.metadata),
    }


def _foreign_row(
    parts: Mapping[str, Sequence[str]],
    metadata: Mapping[str, str],
    units: Mapping[str, timedelta],
    hit: Mapping[str, Any],
) -> dict[str, Any]:
    """
    Args:
        parts: the fields of each part of a document.
        metadata: the fields that become metadata, with their types.
        units: of those that are dates, and which the engine writes as numbers.
    """
    source = hit.get("_source") or {}
    row: dict[str, Any] = {"id": hit["_id"]}
    for part, names in parts.items():
        found = [text for name in names for text in _texts(_value(source, name))]
        if found:
            row[part] = "\n".join(found)
    values = {name: _metadata_value(hit, name, kind, units.get(name)) for name, kind in metadata.items()}
    row["metadata"] = {name.replace(".", "_"): value for name, value in values.items() if value is not None}
    return row


def _metadata_value(hit: Mapping[str, Any], name: str, kind: str, unit: timedelta | None) -> Any:
    """The value of a field; as the engine has mapped it if it is written as another type, such as "7" in a field of
    integers or a date in milliseconds."""
    value = _value(hit.get("_source"), name)
    if all(type(one) in _METADATA_TYPES[kind] for one in _flat(value)):
        return value
    mapped = _flat(_value(hit.get("fields"), name))
    if unit is not None:
        mapped = [_date_text(one, unit) for one in mapped]
    return mapped if isinstance(value, list) or len(mapped) > 1 else next(iter(mapped), None)


def _date_text(number: str, unit: timedelta) -> str:
    """As the engines write a date by default; the number where Python has no such date.

    >>> _date_text("1577923200", timedelta(seconds=1))
    '2020-01-02T00:00:00.000Z'
    """
    try:
        return f"{(_EPOCH + float(number) * unit).isoformat(timespec='milliseconds')}Z"
    except (ValueError, OverflowError):
        return number


def _value(source: Any, name: str) -> Any:
    """The value of a dotted field; for a list of objects, the list of their values."""
    if isinstance(source, list):
        return [found for one in source if (found := _value(one, name)) is not None] or None
    if not isinstance(source, Mapping):
        return None
    if name in source:
        return source[name]
    first, _, rest = name.partition(".")
    return _value(source[first], rest) if rest and first in source else None


def _texts(value: Any) -> list[str]:
    return [str(one) for one in _flat(value) if one != ""]


def _flat(value: Any) -> list[Any]:
    """The values of a list of any depth, or the value alone, without null."""
    if isinstance(value, list):
        return [found for one in value for found in _flat(one)]
    return [] if value is None else [value]
