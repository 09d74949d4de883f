"""Turns JSONL into rows, and a row into its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ingest.files.lines import lines, open_file
from ingest.files.row import Row, json_type, not_utf8
from ingest.files.sources import Source
from reranker.base.strict_json import read_strictly


def read_jsonl(source: Source) -> Iterator[Row]:
    """The lines, not parsed yet, so that other processes can parse them."""
    with open_file(source.path) as file:
        for line in lines(file):
            if line.error is not None or line.content.strip():
                yield Row(source.name, line.number, line.content, None, line.error)


def parse_json(row: Row) -> Row:
    """The row with its fields, or with the reason why there are none."""
    try:
        value = orjson.loads(row.raw)
    except orjson.JSONDecodeError:
        values, error = _parse_slowly(row.raw)
        return row._replace(values=values, error=error)
    if not isinstance(value, dict):
        return row._replace(error=_no_object(value))
    return row._replace(values=value)


def _parse_slowly(content: bytes) -> tuple[Mapping[str, Any] | None, str | None]:
    """The fields of a line, or what is wrong with it, by Python's own parser, which has better error messages."""
    try:
        value = read_strictly(content.decode())
    except UnicodeDecodeError as error:
        return None, not_utf8(error)
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return None, f"the JSON cannot be read: {error}"
    if not isinstance(value, dict):
        return None, _no_object(value)
    return value, None


def _no_object(value: object) -> str:
    return f"the line is {json_type(value)}, not an object; write one document on each line"
