"""Turns files of many formats into rows. A row that cannot be read has the reason instead."""

from ingest.files.lines import MAX_ROW_BYTES
from ingest.files.reading import in_pieces, parse, read_header, read_rows
from ingest.files.row import REJECT_FIELDS, Row, json_type
from ingest.files.sources import STDIN, Source, open_sources
from ingest.files.walking import FORMATS, PAGE_FORMATS

__all__ = [
    "FORMATS",
    "MAX_ROW_BYTES",
    "PAGE_FORMATS",
    "REJECT_FIELDS",
    "STDIN",
    "Row",
    "Source",
    "in_pieces",
    "json_type",
    "open_sources",
    "parse",
    "read_header",
    "read_rows",
]
