"""Parses documentation (HTML, pod, man pages) into pages or sections with their titles. Does not read files."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from html import unescape
from pathlib import PurePath
from typing import NamedTuple

from lxml import html

from papers.corpora.roff import parse_manual


class Section(NamedTuple):
    """A page or section. The text has neither the title nor the sections inside; a title may be empty."""

    section_id: str
    title: str
    text: str


# "Chapter 2. The SQL Language", "E.1. Release 15"
_POSTGRESQL_NUMBER = re.compile(r"^(?:(?:Chapter|Appendix|Part) )?(?:[A-Z]|[IVX]+|\d+)(?:\.\d+)*\. ")
_POSTGRESQL_LINKS = '//div[@class="navheader" or @class="navfooter" or @class="toc"]'
# "2.1. Comments", "abc — Abstract Base Classes"
_PYTHON_NUMBER_OR_MODULE = re.compile(r"^(?:[\d.]+ )?(?:\S+ — )?")
# Elements that words do not cross. Often there is no white space between two of them.
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = (*_HEADINGS, "p", "pre", "div", "li", "dt", "dd", "td", "th", "br")


def postgresql_page(name: str, source: bytes) -> Iterator[Section]:
    """A page of PostgreSQL's documentation. The title of a reference page is the description beside its name."""
    root = _html(source)
    title = _POSTGRESQL_NUMBER.sub("", _joined(root.findtext(".//title") or ""))
    for described in root.xpath('//div[@class="refnamediv"]'):
        title = _joined(described.text_content().partition("—")[2])
        described.drop_tree()
    for element in root.xpath(f'{_POSTGRESQL_LINKS}|//head|(//div[@class="titlepage"])[1]'):
        element.drop_tree()
    yield Section(PurePath(name).stem, title, _joined(root.text_content()))


def python_sections(name: str, source: bytes) -> Iterator[Section]:
    """The sections of a page of Python's documentation, without their numbers and the names of modules."""
    root = _html(source)
    for link in root.xpath('//a[@class="headerlink"]'):
        link.drop_tree()
    # The inner ones come first, so that they are not in the text of the outer ones.
    for section in reversed(root.xpath("//section")):
        for heading in list(section.iterchildren(*_HEADINGS))[:1]:
            title = _PYTHON_NUMBER_OR_MODULE.sub("", _joined(heading.text_content()))
            heading.drop_tree()
            yield Section(f"{name}#{section.get('id', '')}", title, _joined(section.text_content()))
            section.drop_tree()


def manual_page(name: str, source: bytes) -> Iterator[Section]:
    """A gzipped man page. Its title is the description in the section NAME, which is the first."""
    parsed = parse_manual(gzip.decompress(source).decode(errors="replace"))
    if parsed is not None:
        # "strspn, strcspn - get length of a prefix substring"
        named = " ".join(text for paragraph_id, text in parsed[1] if paragraph_id.startswith("1."))
        title = "".join(re.split(r" [-–—]+ ", named, maxsplit=1)[1:])
        text = " ".join(text for paragraph_id, text in parsed[1] if not paragraph_id.startswith("1."))
        yield Section(PurePath(name).stem, title, text)


# Blocks for other programs, and code between parts of pod.
_POD_SKIPPED = re.compile(r"^=begin\b.*?^=end\b[^\n]*|^=cut\b.*?(?=^=[a-z]|\Z)", re.MULTILINE | re.DOTALL)
# A command ("head2", "item") and its text, without the bullet of an item.
_POD_COMMAND = re.compile(r"=(?P<name>[a-z]+)\d?\s*(?:\*(?:\s+|$))?(?P<text>.*)", re.DOTALL)
_POD_CODE = re.compile(r"([A-Z])(?:<<<\s+(.*?)\s+>>>|<<\s+(.*?)\s+>>|<([^<>]*)>)", re.DOTALL)
# A bracket that is shown must not be taken for one of the code around it.
_HIDDEN, _SHOWN = str.maketrans("<>", "\x01\x02"), str.maketrans("\x01\x02", "<>")


def pod_sections(name: str, source: bytes) -> Iterator[Section]:
    """The sections of a file in Perl's format pod, in their order. The id has their number, from 0."""
    sections: list[tuple[str, list[str]]] = []
    pod = _POD_SKIPPED.sub("", source.decode(errors="replace")).lstrip("\n")
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", pod):
        # An indented paragraph is code, and is shown as it is written.
        text = paragraph if paragraph[:1].isspace() else _pod_text(paragraph)
        command = _POD_COMMAND.match(text)
        if command is not None and command["name"] == "head":
            sections.append((_joined(command["text"]), []))
        elif sections and (command is None or command["name"] == "item"):
            sections[-1][1].append(text if command is None else command["text"])
    for number, (title, texts) in enumerate(sections):
        yield Section(f"{PurePath(name).stem}#{number}", title, _joined(" ".join(texts)))


def _pod_text(paragraph: str) -> str:
    """The paragraph without formatting codes: `B<a> C<< b->c >>` is `a b->c`."""
    while (changed := _POD_CODE.sub(_pod_code, paragraph)) != paragraph:
        paragraph = changed
    return paragraph.translate(_SHOWN)


def _pod_code(match: re.Match[str]) -> str:
    code, content = match[1], match[match.lastindex or 0]
    if code == "E":  # "lt", "233" or "0xE9"
        content = unescape(f"&{'#' if content[:1].isdigit() else ''}{content.removeprefix('0')};")
    elif code == "L":  # "text|page" or "page"
        content = content.partition("|")[0]
    return "" if code in "XZ" else content.translate(_HIDDEN)  # words of an index, and nothing


def _html(source: bytes) -> html.HtmlElement:
    root = html.document_fromstring(source, parser=html.HTMLParser(encoding="utf-8"))
    for element in root.iter(*_BLOCKS):
        element.text, element.tail = f" {element.text or ''}", f" {element.tail or ''}"
    return root


def _joined(text: str) -> str:
    return " ".join(text.split())
