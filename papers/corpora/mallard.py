"""Parses the Mallard XML of GNOME's help into paragraphs with ids. Knows nothing of files or languages."""

from __future__ import annotations

from typing import NamedTuple

from lxml import etree

from sinkrank.demo.pages import Paragraph

_MALLARD = "{http://projectmallard.org/1.0/}"

# Commands and output are the same in every language, so a translation would be found by them and not by its words.
_NOT_PROSE = (f"{_MALLARD}code", f"{_MALLARD}screen")


class Topic(NamedTuple):
    """A page of help: its title, its paragraphs, and the guides (`net-wireless`) that list it."""

    title: str
    paragraphs: tuple[Paragraph, ...]
    guides: tuple[str, ...]


def parse_topic(source: bytes) -> Topic | None:
    """Return the contents of a page, or None if it is a guide, whose text is links to other pages.

    A paragraph is a title or a `p` outside the page's head. Its id is its position among these, since a translation
    has the same elements as the English page.

    Raises ValueError if it is not a Mallard page.
    """
    try:
        root = etree.fromstring(source, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not XML: {error}") from error
    if root.tag != f"{_MALLARD}page":
        raise ValueError(f"the root is {root.tag}; a page of Mallard has {_MALLARD}page")
    if root.get("type") == "guide":
        return None
    guides = tuple(
        link.get("xref", "").partition("#")[0]
        for link in root.findall(f"{_MALLARD}info/{_MALLARD}link")
        if link.get("type") == "guide"
    )
    info = root.find(f"{_MALLARD}info")
    if info is not None:
        root.remove(info)
    etree.strip_elements(root, *_NOT_PROSE, with_tail=False)
    paragraphs = tuple(
        Paragraph(str(place), text)
        for place, element in enumerate(root.iter(f"{_MALLARD}title", f"{_MALLARD}p"))
        if (text := " ".join(str(element.xpath("string()")).split()))
    )
    return Topic(paragraphs[0].text if paragraphs else "", paragraphs, guides)
