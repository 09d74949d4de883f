"""Turns files into rows: JSONL, CSV and TSV, plain or gzipped; one that cannot be read comes out with its reason."""

from ingest.files.lines import MAX_ROW_BYTES
from ingest.files.reading import read_header, read_rows
from ingest.files.row import REJECT_FIELDS, Row, json_type
from ingest.files.sources import FORMATS, STDIN, Source, open_sources

__all__ = [
    "FORMATS",
    "MAX_ROW_BYTES",
    "REJECT_FIELDS",
    "STDIN",
    "Row",
    "Source",
    "json_type",
    "open_sources",
    "read_header",
    "read_rows",
]
