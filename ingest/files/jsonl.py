"""Turns JSONL into rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ingest.files.lines import lines, open_file
from ingest.files.row import BYTE_ORDER_MARK, Row, json_type, not_utf8
from ingest.files.sources import Source


def read_jsonl(source: Source) -> Iterator[Row]:
    with open_file(source.path) as file:
        for line in lines(file):
            if line.error is not None:
                yield Row(source.name, line.number, line.content, None, line.error)
            elif line.content.strip():
                values, error = _parse_object(line.content, first=line.number == 1)
                yield Row(source.name, line.number, line.content, values, error)


def _parse_object(content: bytes, first: bool) -> tuple[Mapping[str, Any] | None, str | None]:
    """The fields of a JSON line, or why there are none."""
    try:
        text = content.decode()
        value = json.loads(text.removeprefix(BYTE_ORDER_MARK) if first else text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return None, not_utf8(error)
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON that can be read: {error}"
    if not isinstance(value, dict):
        return None, f"the line holds {json_type(value)}, not an object; write one document a line"
    if b"\\u" in content and not _is_unicode(value):
        return None, "a string holds half a surrogate pair (\\ud800 to \\udfff), which is no character; mend or drop it"
    return value, None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_unicode(value: Mapping[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
