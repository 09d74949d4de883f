"""Makes queries whose document is known out of documents: their titles, or the first sentences of their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import regex

from reranker.text.documents import Document
from reranker.text.exact_text import exact_key
from reranker.text.segmentation import UNSPACED_LANGUAGES

QUERY_WORDS = range(2, 16)
"""Of a query; a longer sentence is cut."""

# The same, of a language that is written without spaces.
_QUERY_CHARS = range(4, 41)
_SENTENCE_END = regex.compile(r"(?<=[.!?…])\s|(?<=[。！？])|\n")


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A query, its language (that of the document), and the one document that it is meant to find."""

    query: str
    language: str
    doc_id: str


def known_items(documents: Iterable[Document], n_most: int) -> list[KnownItem]:
    """The first `n_most` queries that suit, in the order of the documents.

    The query is the title, if it has 2 to 15 words and is not in capitals only; otherwise the first sentence of the
    text, or its first 15 words. What two documents have in common is no query: nobody knows which one is meant.
    """
    found = [KnownItem(query, each.language, each.doc_id) for each in documents if (query := _query(each))]
    times = Counter(exact_key(each.query) for each in found)
    return [each for each in found if times[exact_key(each.query)] == 1][:n_most]


def _query(document: Document) -> str:
    """Empty for none."""
    title = " ".join(document.title.split())
    if _suits(title, document.language) and not title.isupper():
        return title
    sentence = _SENTENCE_END.split(document.text.strip(), maxsplit=1)[0]
    if document.language in UNSPACED_LANGUAGES:
        sentence = sentence[: _QUERY_CHARS.stop - 1]
    else:
        sentence = " ".join(sentence.split()[: QUERY_WORDS.stop - 1])
    return sentence if _suits(sentence, document.language) else ""


def _suits(text: str, language: str) -> bool:
    if exact_key(text) is None:
        return False
    return len(text) in _QUERY_CHARS if language in UNSPACED_LANGUAGES else len(text.split()) in QUERY_WORDS
