"""What tests of reading share: the records and the documents of files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ingest.documents import Layout, Record, read_records
from ingest.embeddings.preparing.texts import DocumentFile, read_texts
from ingest.files import open_sources
from reranker.text.documents import Document
from tests.support.commands import write_rows

ENGLISH = Layout(default_language="en")


def read(
    *names: str | Path, layout: Layout = ENGLISH, file_format: str | None = None, columns: Sequence[str] | None = None
) -> list[Record]:
    with open_sources([str(name) for name in names], file_format, columns) as sources:
        return list(read_records(sources, layout))


def documents(records: list[Record]) -> list[Document]:
    """Those of records, of which none was rejected."""
    assert [record.reason for record in records if record.document is None] == []
    return [record.document for record in records if record.document is not None]


def read_as_texts(
    folder: Path, rows: Iterable[Mapping[str, Any]], lang: str | None = "auto", group: str | None = None
) -> DocumentFile:
    """Documents as `sinkrank embeddings prepare` keeps them."""
    folder.mkdir(exist_ok=True)
    layout = Layout(default_language=lang)
    with open_sources([str(write_rows(folder / "rows.jsonl", rows))]) as sources:
        return read_texts(read_records(sources, layout), layout, folder / "work", group)
