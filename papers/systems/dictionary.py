"""Translates single words with a bilingual dictionary: the translations of a word, with weights that sum to 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.embeddings import freedict
from ingest.embeddings.dictionaries import Dictionary, Translations, read_entries_of
from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Direction
from reranker.base.errors import BadInput
from reranker.stores.embedded.terms import bm25_terms
from reranker.text.tokens import letter_tokens

# "somebody" and "something" in the notation of the German dictionaries; they are not translations.
PLACEHOLDERS = frozenset({"sb", "sth", "etw", "jd", "jdn", "jdm", "jds"})

Votes = Counter[tuple[str, ...]]
"""Number of senses that give each translation, by the stems of the translation."""


@dataclass(eq=False)
class BilingualDictionary:
    """Translates word by word from one language to another.

    A word is looked up as it is written, then by its stem among the stems of the headwords. Its weight is divided among
    its translations in proportion to the number of senses that give each, over the dictionaries of both directions. If
    a translation has several words, its weight is divided equally among them.
    """

    direction: Direction
    _by_word: dict[str, Votes] = field(default_factory=dict)
    _by_stem: dict[str, Votes] = field(default_factory=dict)
    _translated: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def add(self, entries: Iterable[Translations]) -> None:
        """Adds a dictionary in this direction, without headwords of several words."""
        for headword, senses in entries:
            words = letter_tokens(headword, self.direction.query_language, None)
            if len(words) == 1:
                self._vote(words[0], (each for sense in senses for each in sense))

    def add_inverted(self, entries: Iterable[Translations]) -> None:
        """Adds a dictionary in the other direction: each translation of one word becomes a headword."""
        for headword, senses in entries:
            if len(letter_tokens(headword, self.direction.document_language, None)) == 1:
                for each in (each for sense in senses for each in sense):
                    words = letter_tokens(each, self.direction.query_language, None)
                    if len(words) == 1 and words[0] not in PLACEHOLDERS:
                        self._vote(words[0], (headword,))

    def translate(self, token: str) -> Mapping[str, float]:
        """The stems of a token's translations with weights that sum to 1.

        A word that is not in the dictionary is only stemmed, since many such words are names.
        """
        if token not in self._translated:
            votes = self._by_word.get(token) or self._by_stem.get(_stem(token, self.direction.query_language))
            stem = _stem(token, self.direction.document_language)
            self._translated[token] = _shared(votes) if votes else {stem: 1.0}
        return self._translated[token]

    def __contains__(self, token: str) -> bool:
        return token in self._by_word or _stem(token, self.direction.query_language) in self._by_stem

    def _vote(self, word: str, translations: Iterable[str]) -> None:
        language = self.direction.document_language
        for each in translations:
            words = [word for word in letter_tokens(each, language, None) if word not in PLACEHOLDERS]
            if words:
                stems = tuple(_stem(word, language) for word in words)
                self._by_word.setdefault(word, Counter())[stems] += 1
                stem = _stem(word, self.direction.query_language)
                self._by_stem.setdefault(stem, Counter())[stems] += 1


def read_into(
    direction: Direction,
    folder: Path,
    add: Callable[[Iterable[Translations]], None],
    add_inverted: Callable[[Iterable[Translations]], None],
    progress: Progress = no_progress,
) -> None:
    """Passes the dictionary of a direction to `add`, and that of the opposite to `add_inverted`. One may be missing.

    Raises:
        BadInput: FreeDict has neither, or one cannot be read.
        FetchFailed: one is missing and cannot be downloaded.
    """
    check_direction(direction)
    for listed, take in ((direction, add), (_back(direction), add_inverted)):
        if str(listed) in freedict.LICENCES:
            path = freedict.fetch(folder, str(listed), progress)
            take(read_entries_of(Dictionary(path, listed.query_language, listed.document_language)))


def check_direction(direction: Direction, system: str = "bm25-translated") -> None:
    """Raises BadInput if FreeDict has no dictionary for a direction, either way."""
    if not {str(direction), str(_back(direction))} & freedict.LICENCES.keys():
        language, _, target = str(direction).partition("-")
        near = [each for each in freedict.LICENCES if each.startswith(f"{language}-") or each.endswith(f"-{target}")]
        known = ", ".join(near) or "none from or to these languages"
        raise BadInput(f"there is no dictionary for {direction}; {system} knows {known}")


def licences(directions: Iterable[Direction]) -> str:
    """The source and licence of the dictionaries of these directions, both ways."""
    asked = {str(each) for direction in directions for each in (direction, _back(direction))}
    listed = ", ".join(f"{pair} {licence}" for pair, licence in freedict.LICENCES.items() if pair in asked)
    return f"FreeDict, Debian packages dict-freedict-*-*: {listed}"


def _back(direction: Direction) -> Direction:
    return Direction(direction.document_language, direction.query_language)


def _shared(votes: Votes) -> dict[str, float]:
    total = votes.total()
    weights: dict[str, float] = {}
    for stems, n in votes.items():
        for stem in stems:
            weights[stem] = weights.get(stem, 0.0) + n / total / len(stems)
    return weights


def _stem(token: str, language: str) -> str:
    """The stem of a token as in the stores' BM25; the token itself if BM25 ignores it."""
    found = bm25_terms(token, language)
    return found[0] if found else token
