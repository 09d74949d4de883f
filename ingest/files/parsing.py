"""Parses rows into fields, by their format. Any process can do this part of reading."""

from __future__ import annotations

from collections.abc import Callable

from ingest.files.jsonl import parse_json
from ingest.files.markdown import parse_markdown
from ingest.files.pages import parse_html, parse_text
from ingest.files.row import Row
from ingest.files.trec import parse_trec
from ingest.files.walking import PAGE_FORMATS

_PARSERS: dict[str, Callable[[Row], Row]] = {
    "jsonl": parse_json,
    "html": parse_html,
    "markdown": parse_markdown,
    "text": parse_text,
    "trec": parse_trec,
}


def parse(row: Row) -> Row:
    """The row with its fields, or with the reason why there are none."""
    if row.error is not None or (row.values is not None and row.format not in PAGE_FORMATS):
        return row
    return _PARSERS[row.format](row)
