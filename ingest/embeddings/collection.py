"""Counts the words of a collection: how many documents have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from reranker.text.documents import Document
from reranker.text.tokens import letter_tokens

Term = tuple[str, str]
"""A language and a normalised term of it."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The words of a collection.

    Attributes:
        document_frequencies: documents with each term, by language.
        n_documents: number of documents of each language.
    """

    document_frequencies: Mapping[str, Counter[str]]
    n_documents: Mapping[str, int]

    def only(self, languages: Container[str]) -> Collection:
        """The same for some languages."""
        return Collection(
            {code: counter for code, counter in self.document_frequencies.items() if code in languages},
            {code: n for code, n in self.n_documents.items() if code in languages},
        )


def count_collection(documents: Iterable[Document]) -> Collection:
    """Counts the words of the documents, in one pass; memory grows with the distinct words."""
    frequencies: dict[str, Counter[str]] = {}
    n_documents: Counter[str] = Counter()
    for document in documents:
        language = document.language
        n_documents[language] += 1
        # Not a set: its order differs between processes. Equally frequent words keep the order of occurrence.
        words = dict.fromkeys(letter_tokens(document.full_text, language))
        frequencies.setdefault(language, Counter()).update(words.keys())
    return Collection({language: counter for language, counter in frequencies.items() if counter}, dict(n_documents))
