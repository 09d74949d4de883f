"""Reads pages (one file each), and parses HTML and plain text into a title and a text."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regex

from ingest.files.lines import DAMAGE, MAX_ROW_BYTES, open_file
from ingest.files.row import Row, not_utf8
from ingest.files.sources import Source
from ingest.files.walking import format_of_name, pages_of
from reranker.base.errors import BadInput
from reranker.base.extras import extra

# Marks that documentation tools (Sphinx, MkDocs, GitHub and others) add to headings.
_ANCHORS = frozenset({"¶", "#", "##", "§", "🔗", "⚓", "\uf0c1"})
# The name that such links get to be removed by: no element of HTML.
_DROPPED = "sinkrank-dropped"
# What HTML may hold and lxml writes into no tree (XML 1.0, production 2).
_NO_XML = regex.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_page(source: Source) -> Iterator[Row]:
    """The only row of a page."""
    yield _row(source.path, source.name, source.page_id or source.name, source.format)


def read_folder(source: Source) -> Iterator[Row]:
    """The pages of a folder and its subfolders, in the order of their paths. The id of a page is its path in the
    folder."""
    for path in pages_of(source.path):
        name = path.relative_to(source.path).as_posix()
        yield _row(path, f"{source.name.rstrip('/')}/{name}", name, format_of_name(path) or "text")


def parse_text(row: Row) -> Row:
    """The row with title and text. The title is the first line, if an empty line follows it."""
    try:
        text = row.raw.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return row._replace(error=not_utf8(error))
    title, _, rest = text.strip().partition("\n\n")
    fields = {"title": title, "text": rest} if rest and "\n" not in title else {"text": text}
    return row._replace(values={**(row.values or {}), **fields}, format="")


def parse_html(row: Row) -> Row:
    """The row with title, main text and the language that the page names. The main text, without navigation and
    footers, is found by trafilatura. If it finds none, the whole text counts.

    Raises:
        MissingPackage: the extra `html` is not installed.
    """
    with extra("html", "reading HTML"):
        from lxml import etree, html
        from trafilatura import bare_extraction, load_html

    # Errors go to the reject file, not to its log.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)
    try:
        tree = html.fromstring(row.raw, parser=html.HTMLParser(encoding=_encoding(row.raw)))
    except (etree.ParserError, ValueError) as error:
        return row._replace(error=f"the HTML cannot be read ({error})")
    _drop_anchors(tree)
    # trafilatura guesses the encoding of the bytes.
    loaded = load_html(row.raw)
    if loaded is not None:
        _drop_anchors(loaded)
    found: Any = bare_extraction(loaded, with_metadata=True, include_comments=False, favor_recall=True)
    title = (found.title if found is not None else None) or tree.findtext(".//title") or ""
    text = (found.text if found is not None else None) or _all_text(tree)
    fields = {"title": " ".join(title.split()), "text": text.strip()}
    language = tree.get("lang") or tree.get("xml:lang")
    if language:
        fields["language"] = language
    return row._replace(values={**(row.values or {}), **fields}, format="")


def _encoding(raw: bytes) -> str | None:
    """UTF-8 for all that is UTF-8, as trafilatura reads it; None for what the page itself names."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _drop_anchors(tree: Any) -> None:
    """Removes the marks that link a heading to itself: `<a href="#print">¶</a>`."""
    from lxml import etree

    links = [link for link in tree.iter("a") if "#" in (link.get("href") or "")]
    marks = [link for link in links if "".join(link.itertext()).strip() in _ANCHORS]
    parents = {parent for link in marks if (parent := link.getparent()) is not None}
    for link in marks:
        link.tag = _DROPPED
    # All at once: `drop_tree` of each copies the text before it, which takes hours where one paragraph has many.
    etree.strip_elements(tree, _DROPPED, with_tail=False)
    for parent in parents:  # the pieces of text between two marks become one
        parent.text = _xml_text(parent.text)
        for child in parent:
            child.tail = _xml_text(child.tail)


def _xml_text(text: str | None) -> str | None:
    return text and _NO_XML.sub(" ", text)


def _row(path: Path, name: str, page_id: str, page_format: str) -> Row:
    values = {"id": page_id}
    try:
        with open_file(path) as file:
            content = file.read(MAX_ROW_BYTES + 1)
    except BadInput as error:
        return Row(name, 1, b"", values, str(error), "")
    except DAMAGE as error:
        return Row(name, 1, b"", values, f"the file cannot be read ({error}); fetch or write it again", "")
    if len(content) > MAX_ROW_BYTES:
        return Row(name, 1, b"", values, f"the file is longer than {MAX_ROW_BYTES:,} bytes; split it", "")
    return Row(name, 1, content, values, None, page_format)


def _all_text(tree: Any) -> str:
    from lxml import etree

    etree.strip_elements(tree, "script", "style", "head", with_tail=False)
    return " ".join(" ".join(tree.itertext()).split())
