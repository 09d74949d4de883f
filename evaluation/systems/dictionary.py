"""Translates single words by a bilingual dictionary: a word's translations with weights that sum to 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evaluation.corpora.freedict import Translations
from evaluation.tasks import Direction
from reranker.stores.terms import bm25_terms
from reranker.tokens import tokenize

# "somebody" and "something" in the notation of the German dictionaries: they stand for no word.
_PLACEHOLDERS = frozenset({"sb", "sth", "etw", "jd", "jdn", "jdm", "jds"})

Votes = Counter[tuple[str, ...]]
"""How many senses give each translation, a translation being its stems."""


@dataclass(eq=False)
class BilingualDictionary:
    """Word by word from one language to another.

    A word is looked up as it is written, then by its stem among the stems of the headwords. Its weight is shared among
    its translations by the number of senses that give each: what several senses, or both dictionaries of the two
    languages, agree on weighs more. A translation of several words shares its part among them.
    """

    direction: Direction
    _by_word: dict[str, Votes] = field(default_factory=dict)
    _by_stem: dict[str, Votes] = field(default_factory=dict)
    _translated: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def add(self, entries: Iterable[Translations]) -> None:
        """Takes in a dictionary in this direction; headwords of several words are left out."""
        for headword, senses in entries:
            words = tokenize(headword, self.direction.query_language, None)
            if len(words) == 1:
                self._vote(words[0], (each for sense in senses for each in sense))

    def add_inverted(self, entries: Iterable[Translations]) -> None:
        """Takes in a dictionary in the other direction: each translation of one word becomes a headword."""
        for headword, senses in entries:
            if len(tokenize(headword, self.direction.document_language, None)) == 1:
                for each in (each for sense in senses for each in sense):
                    words = tokenize(each, self.direction.query_language, None)
                    if len(words) == 1 and words[0] not in _PLACEHOLDERS:
                        self._vote(words[0], (headword,))

    def translate(self, token: str) -> Mapping[str, float]:
        """The stems of a token's translations with weights that sum to 1.

        A word that the dictionary has not stays as it is, stemmed as the documents are: many are names.
        """
        if token not in self._translated:
            votes = self._by_word.get(token) or self._by_stem.get(_stem(token, self.direction.query_language))
            kept = _stem(token, self.direction.document_language)
            self._translated[token] = _shared(votes) if votes else {kept: 1.0}
        return self._translated[token]

    def __contains__(self, token: str) -> bool:
        return token in self._by_word or _stem(token, self.direction.query_language) in self._by_stem

    def _vote(self, word: str, translations: Iterable[str]) -> None:
        language = self.direction.document_language
        for each in translations:
            words = [word for word in tokenize(each, language, None) if word not in _PLACEHOLDERS]
            if words:
                stems = tuple(_stem(word, language) for word in words)
                self._by_word.setdefault(word, Counter())[stems] += 1
                stem = _stem(word, self.direction.query_language)
                self._by_stem.setdefault(stem, Counter())[stems] += 1


def _shared(votes: Votes) -> dict[str, float]:
    total = votes.total()
    weights: dict[str, float] = {}
    for stems, n in votes.items():
        for stem in stems:
            weights[stem] = weights.get(stem, 0.0) + n / total / len(stems)
    return weights


def _stem(token: str, language: str) -> str:
    """The stem of a token as the stores' BM25 has it; a token that this leaves out stays."""
    found = bm25_terms(token, language)
    return found[0] if found else token
