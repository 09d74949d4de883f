"""Parses the HTML of LibreOffice's help into paragraphs with ids. Knows nothing of files or languages."""

from __future__ import annotations

import re

from reranker.base.extras import extra
from sinkrank.demo.pages import Paragraph

with extra("demo", "reading LibreOffice's help"):
    from lxml import html

PARSER_VERSION = 1
"""A part of the cache's key; raise it if a rule below changes."""

_BLOCKS = ("p", "h", "h1", "h2", "h3", "h4", "h5", "h6", "li", "div", "td", "th", "span")
_PARAGRAPH_ID = re.compile(r"par_|hd_|N\d")

# Removed before reading:
# - the texts for Macs ("Command" for "Ctrl"), which a script would hide;
# - lists of links to other pages, whose words are the titles of those pages.
_DROPPED = ".//span[@class='MAC'] | .//*[contains(@class, 'relatedtopics')] | .//script | .//style"


def parse_page(source: bytes) -> tuple[str, tuple[Paragraph, ...]] | None:
    """Return the title and the paragraphs of a help page, or None if it has no content area.

    A paragraph is an outermost element in the content area with an id of LibreOffice's (`par_…`, `hd_…`, `N0123`). Two
    kinds of text have no id and get one here: a sentence that is included from another page (`ref_` and the name of its
    anchor), and a note, tip or warning (`note_` and its number on the page). Code is left out. It is the same in every
    language, so a translation would be found by its code and not by its words.

    A page may include the same paragraph twice, or paragraphs of two pages with the same id. From the second on, the
    nth element with an id is called `id~n`, and is kept only if its text is new.
    """
    root = html.document_fromstring(source, parser=html.HTMLParser(encoding="utf-8"))
    area = root.get_element_by_id("DisplayArea", None)
    if area is None:
        return None
    for element in area.xpath(_DROPPED):
        element.drop_tree()
    for line_break in area.iter("br"):
        line_break.tail = " " + (line_break.tail or "")
    title = " ".join((root.findtext(".//title") or "").split())
    return title, _paragraphs(area)


def _paragraphs(area: html.HtmlElement) -> tuple[Paragraph, ...]:
    paragraphs: list[Paragraph] = []
    occurrences: dict[str, int] = {}
    texts: dict[str, set[str]] = {}
    n_notes = 0
    for element in area.iter(*_BLOCKS):
        name = _name_of(element)
        if name == "note":
            n_notes += 1
            name = f"note_{n_notes}"
        if name is None or _is_nested(element, area):
            continue
        occurrences[name] = n = occurrences.get(name, 0) + 1
        text = " ".join(element.text_content().split())
        if not text or text in texts.setdefault(name, set()):
            continue
        texts[name].add(text)
        paragraphs.append(Paragraph(name if n == 1 else f"{name}~{n}", text))
    return tuple(paragraphs)


def _name_of(element: html.HtmlElement) -> str | None:
    """Return the element's paragraph id, "note" for the text of a note, or None if it is not a paragraph."""
    element_class = element.get("class") or ""
    element_id = element.get("id")
    if element_id is not None and _PARAGRAPH_ID.match(element_id):
        return None if "code" in element_class else str(element_id)
    if element.tag != "p":
        return None
    if element_class == "embedded":
        anchor = element.find(".//a[@name]")
        return None if anchor is None else f"ref_{anchor.get('name')}"
    parent = element.getparent()
    return "note" if parent is not None and parent.get("class") == "notetext" else None


def _is_nested(element: html.HtmlElement, area: html.HtmlElement) -> bool:
    for ancestor in element.iterancestors():
        if ancestor is area:
            return False
        if _name_of(ancestor) is not None:
            return True
    return False
