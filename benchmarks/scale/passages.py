"""Cuts pages into documents of 20 to 60 words, without repeated texts. Knows nothing of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# The minimum number of words of a document, the number at which it is closed, and the maximum.
LEAST, ENOUGH, MOST = 20, 35, 60

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


class Page(NamedTuple):
    """A text of a source.

    Attributes:
        name: the same for all translations of a page.
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
        """The row that ingest reads."""
        return {"id": self.doc_id, **{name: getattr(self, name) for name in self._fields[1:]}}


class Passages:
    """Turns pages into passages, without paragraphs that came before on any page in any language. So licences, menus
    and untranslated paragraphs appear once, if the English pages come first."""

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
    """Joins whole sentences until there are enough words, and cuts sentences that are too long. The rest is dropped if
    it is too short for a document."""
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
    """A hash of eight bytes. Among 10^7 texts the chance of a collision is 1 in 400,000."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
