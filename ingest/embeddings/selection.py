"""Chooses the words to import from embeddings files: words that a text can contain."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.word_frequencies import Term
from reranker.base.errors import BadEmbeddings, BadInput
from reranker.text.languages import known_languages, language_code
from reranker.text.normalization import normalize_term
from reranker.text.segmentation import can_split
from reranker.text.tokens import is_stop_word, is_word

# A ConceptNet term: https://github.com/commonsense/conceptnet5/wiki/URI-hierarchy
_CONCEPT = "/c/"

NOT_UTF8 = "words that are not UTF-8"
NOT_ONE_WORD = "entries that are not a word of letters (phrases, numbers, signs)"
STOP_WORD = "stop words"
DUPLICATE = "words that occurred before, for instance in another case"
OVER_MAX = "words beyond the requested number"
OTHER_LANGUAGE = "words of languages that were not requested"
NOT_SPLIT = "words of languages without spaces between words, which need: pip install 'sinkrank[words]'"
UNKNOWN_LANGUAGE = "words of languages that Sinkrank does not know"


@dataclass(frozen=True, slots=True)
class VectorSource:
    """A file to import.

    Attributes:
        path: plain, or packed with gzip or bzip2.
        language: language of all words. If words name their own (`/c/fr/chat`), only this one is taken. None: words
            name their own.
        languages: if words name their own language, the languages to take; None: all.
    """

    path: Path
    language: str | None = None
    languages: frozenset[str] | None = None


class Selection:
    """Chooses the words of a file.

    Attributes:
        skipped: number of skipped words by reason.
    """

    def __init__(self, source: VectorSource, max_terms: int | None, seen: dict[str, set[str]]) -> None:
        """
        Args:
            max_terms: maximum number of terms of each language.
            seen: the terms of earlier files by language; those of this file are added.
        """
        self.skipped: Counter[str] = Counter()
        self._source = source
        self._language = None if source.language is None else language_code(source.language)
        self._max_terms = max_terms
        self._seen = seen
        self._names_languages = False
        self._n_terms = 0

    def check(self) -> None:
        """Checks a file that was read.

        Raises:
            BadEmbeddings: no term was taken from it.
        """
        if not self._n_terms:
            counted = "; ".join(f"{count:,} {reason}" for reason, count in self.skipped.items()) or "it has no rows"
            raise BadEmbeddings(
                f"{self._source.path} has no usable word ({counted}); check its language and its contents"
            )

    @property
    def is_full(self) -> bool:
        """Whether the file can give no more terms: it has one language, which has reached `max_terms`."""
        return not self._names_languages and self._language is not None and self._has_all(self._language)

    def term(self, word: bytes, place: str) -> Term | None:
        """The term of a word whose vector is to be read, or None.

        Raises:
            BadInput: the word's language is unknown.
        """
        try:
            key = word.decode()
        except UnicodeDecodeError:
            return self._skip(NOT_UTF8)
        language = self._language
        if key.startswith(_CONCEPT):
            self._names_languages = True
            named, _, key = key.removeprefix(_CONCEPT).partition("/")
            if named != (self._language or named) or named not in (self._source.languages or (named,)):
                return self._skip(OTHER_LANGUAGE)
            if named not in known_languages():
                return self._skip(UNKNOWN_LANGUAGE)
            language = named
        if language is None:
            raise BadInput(
                f"{place}: the word {key!r} does not name its language, as /c/en/{key} does; give it with --lang, or "
                f"before the file's name: en={self._source.path.name}"
            )
        if not can_split(language):
            return self._skip(NOT_SPLIT)
        term = normalize_term(key, language)
        if not is_word(term, language):
            return self._skip(NOT_ONE_WORD)
        if is_stop_word(term, language):
            return self._skip(STOP_WORD)
        seen = self._seen.setdefault(language, set())
        if term in seen:
            return self._skip(DUPLICATE)
        if self._has_all(language):
            return self._skip(OVER_MAX)
        seen.add(term)
        self._n_terms += 1
        return language, term

    def _has_all(self, language: str) -> bool:
        return self._max_terms is not None and len(self._seen.get(language, ())) >= self._max_terms

    def _skip(self, reason: str) -> Term | None:
        self.skipped[reason] += 1
        return None
