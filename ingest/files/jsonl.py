"""Turns JSONL into rows, and a line of it into fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import orjson

from ingest.files.lines import lines, open_file
from ingest.files.row import Row, json_type, not_utf8
from ingest.files.sources import Source


def read_jsonl(source: Source) -> Iterator[Row]:
    """The lines, not parsed yet: any process can parse them later."""
    with open_file(source.path) as file:
        for line in lines(file):
            if line.error is not None or line.content.strip():
                yield Row(source.name, line.number, line.content, None, line.error)


def parse_json(row: Row) -> Row:
    """The row with its fields, or with the reason why there are none."""
    try:
        value = orjson.loads(row.raw)
    except orjson.JSONDecodeError:
        return row._replace(**_explained(row.raw))
    if not isinstance(value, dict):
        return row._replace(error=_no_object(value))
    return row._replace(values=value)


def _explained(content: bytes) -> dict[str, Any]:
    """Reads a line again with Python's own parser, whose error message says what is wrong."""
    values, error = _parse_slowly(content)
    return {"values": values, "error": error}


def _parse_slowly(content: bytes) -> tuple[Mapping[str, Any] | None, str | None]:
    try:
        value = json.loads(content.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return None, not_utf8(error)
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON that can be read: {error}"
    if not isinstance(value, dict):
        return None, _no_object(value)
    if not _is_unicode(value):
        return None, "a string holds half a surrogate pair (\\ud800 to \\udfff), which is no character; mend or drop it"
    return value, None


def _no_object(value: object) -> str:
    return f"the line holds {json_type(value)}, not an object; write one document a line"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_unicode(value: Mapping[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
