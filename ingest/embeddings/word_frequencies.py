"""The words of a collection: how many documents have each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass

Term = tuple[str, str]
"""A language and a normalised term of it."""


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """The words of a collection.

    Attributes:
        document_frequencies: documents with each term, by language.
        n_documents: number of documents of each language.
    """

    document_frequencies: Mapping[str, Counter[str]]
    n_documents: Mapping[str, int]

    def only(self, languages: Container[str]) -> WordFrequencies:
        """The same for some languages."""
        return WordFrequencies(
            {code: counter for code, counter in self.document_frequencies.items() if code in languages},
            {code: n for code, n in self.n_documents.items() if code in languages},
        )
