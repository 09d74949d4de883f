"""Turns TREC's collections (`<DOC>`, `<DOCNO>`, `<TEXT>` and so on) into rows."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from ingest.files.lines import MAX_ROW_BYTES, lines, open_file
from ingest.files.row import Row
from ingest.files.sources import Source
from reranker.base.extras import extra

_BEGIN, _END = b"<DOC>", b"</DOC>"
_ID = regex.compile(r"<DOCNO>(.*?)</DOCNO>", regex.S | regex.I)
_HEADER = regex.compile(r"<DOCHDR>.*?</DOCHDR>", regex.S | regex.I)
# The tags of titles in TREC disks 4 and 5, AQUAINT, and most other collections.
_TITLE = regex.compile(r"<(TITLE|HEADLINE|HL|TTL|TI)>(.*?)</\1>", regex.S | regex.I)
_TEXT = regex.compile(r"<(TEXT|LP|LEADPARA|BODY)>(.*?)</\1>", regex.S | regex.I)


def read_trec(source: Source) -> Iterator[Row]:
    """The documents between `<DOC>` and `</DOC>`, not parsed yet."""
    with open_file(source.path) as file:
        parts: list[bytes] = []
        first = n_bytes = 0
        for line in lines(file):
            if line.error is not None:
                yield Row(source.name, line.number, line.content, None, line.error)
                continue
            if line.content.strip().upper().startswith(_BEGIN):
                if parts:
                    yield _unended(source, first, parts)
                parts, first, n_bytes = [], line.number, 0
            if first:
                parts.append(line.content)
                n_bytes += len(line.content)
                is_ended = line.content.strip().upper().endswith(_END)
                if n_bytes > MAX_ROW_BYTES:
                    yield Row(
                        source.name, first, parts[0], None, f"the document is longer than {MAX_ROW_BYTES:,} bytes"
                    )
                elif is_ended:
                    yield Row(source.name, first, b"\n".join(parts), None, None, "trec")
                if is_ended or n_bytes > MAX_ROW_BYTES:
                    parts, first, n_bytes = [], 0, 0
        if parts:
            yield _unended(source, first, parts)


def parse_trec(row: Row) -> Row:
    """The row with id, title and text. A web page after `<DOCHDR>` is read as HTML. Bytes that are not UTF-8 are
    read as Latin-1, the encoding of older collections."""
    try:
        content = row.raw.decode()
    except UnicodeDecodeError:
        content = row.raw.decode("latin-1")
    found = _ID.search(content)
    if found is None:
        return row._replace(error="the document has no <DOCNO>; give it one")
    doc_id = found.group(1).strip()
    if _HEADER.search(content):
        from ingest.files.pages import parse_html

        page = _HEADER.sub("", _ID.sub("", content)).strip().removeprefix("<DOC>").removesuffix("</DOC>")
        return parse_html(row._replace(raw=page.encode(), values={"id": doc_id}))._replace(raw=row.raw)
    title = " ".join(_plain(match.group(2)) for match in _TITLE.finditer(content))
    text = "\n".join(_plain(match.group(2)) for match in _TEXT.finditer(content))
    return row._replace(values={"id": doc_id, "title": title, "text": text or _plain(_ID.sub("", content))}, format="")


def _plain(marked: str) -> str:
    """The text without tags and entities."""
    if not marked.strip():
        return ""
    with extra("html", "reading TREC's collections"):
        from lxml import html
    return " ".join(" ".join(html.fromstring(f"<div>{marked}</div>").itertext()).split())


def _unended(source: Source, first: int, parts: list[bytes]) -> Row:
    return Row(source.name, first, b"\n".join(parts), None, "the document has no </DOC>; is the file truncated?")
