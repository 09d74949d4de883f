"""Cuts pages into documents of 20 to 60 words. No text comes twice; knows nothing of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# The least words of a document, those that close one, and the most.
LEAST, ENOUGH, MOST = 20, 35, 60

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


class Page(NamedTuple):
    """A text as it was found.

    Attributes:
        name: the same for the translations of a page of one source.
    """

    source: str
    language: str
    name: str
    title: str
    paragraphs: tuple[str, ...]


class Passage(NamedTuple):
    """A document of the collection."""

    doc_id: str
    language: str
    source: str
    title: str
    text: str

    def row(self) -> dict[str, str]:
        """As ingest reads it."""
        return {"id": self.doc_id, **{name: getattr(self, name) for name in self._fields[1:]}}


class Passages:
    """Turns pages into passages. A paragraph that came before is left out, whatever page or language it stood in: so
    are licences, menus, and English paragraphs of a half translated page, if the English pages come first."""

    def __init__(self) -> None:
        self._paragraphs: set[bytes] = set()
        self._texts: set[bytes] = set()

    def of(self, page: Page) -> Iterator[Passage]:
        new = [text for text in page.paragraphs if self._is_new(self._paragraphs, text)]
        for text in cut(new):
            if self._is_new(self._texts, text):
                doc_id = digest(f"{page.language} {text}").hex()
                yield Passage(doc_id, page.language, page.source, page.title, text)

    @staticmethod
    def _is_new(seen: set[bytes], text: str) -> bool:
        key = digest(text)
        if key in seen:
            return False
        seen.add(key)
        return True


def cut(paragraphs: Iterable[str]) -> Iterator[str]:
    """Whole sentences until there are enough words; a sentence that is too long is cut. What is left at the end and is
    too short for a document is dropped."""
    words: list[str] = []
    for paragraph in paragraphs:
        for sentence in _SENTENCE.split(paragraph):
            words += sentence.split()
            while len(words) > MOST:
                yield " ".join(words[:MOST])
                words = words[MOST:]
            if len(words) >= ENOUGH:
                yield " ".join(words)
                words = []
    if len(words) >= LEAST:
        yield " ".join(words)


def digest(text: str) -> bytes:
    """Eight bytes: among 10^7 texts two share them by a chance of 1 to 400,000."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
