"""Finds the known words that an unknown word consists of: `bildschirm` and `helligkeit` of `bildschirmhelligkeit`.

A word is split into the fewest parts that are all terms of its language. Of several splits the one with the highest
geometric mean of frequencies is taken (Koehn and Knight 2003, "Empirical methods for compound splitting", EACL); the
rank in the vocabulary stands for the frequency, by Zipf's law. All parts but the last may have a linking element
(Langer 1998, "Zur Morphologie und Semantik von Nominalkomposita"), and the last part may be inflected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ctypes import byref
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.spelling import MAX_LETTERS, MIN_LETTERS, Spellings
from reranker.embeddings.vocabulary import Vocabulary, language_seed
from reranker.native import text as native
from reranker.native.library import address
from reranker.text.stems import stem

# A term of three letters is often a fragment or a name. As a part it must be one of the most frequent terms: of German
# XQuAD `bau|recht` is split then, and `dia|log` is not.
_LEAST_LETTERS = 3
_FREQUENT_SHARE = 0.05

# More than these are chance: a word of four parts has some twenty letters.
_MAX_PARTS = 4

# In a shorter stem two other letters at the end change too much.
_LEAST_LETTERS_OF_GRADATION = 6

_NONE = -1


@dataclass(frozen=True, slots=True)
class _Compounding:
    """How a language makes compounds.

    Attributes:
        links: (cut, restored): endings that a part takes within a compound, and what its term has instead.
        spellings: (plain, letter): how a letter is written where it is missing on the keyboard.
        has_gradation: whether words change letters before an ending, as Finnish `tulostin` and `tulostimen`.
    """

    links: tuple[tuple[str, str], ...]
    spellings: tuple[tuple[str, str], ...] = ()
    has_gradation: bool = False


_UMLAUTS = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"))
_DANISH = _Compounding((("s", ""), ("e", "")), (("ae", "æ"), ("oe", "ø"), ("aa", "å")))

COMPOUNDING = {
    "da": _DANISH,
    # arbeit|s|amt, land|es|bank, sonne|n|licht, held|en|tat, kind|er|buch, hund|e|hütte, sprach(e)|kurs, heiz(en)|ofen
    "de": _Compounding(
        (("s", ""), ("es", ""), ("n", ""), ("en", ""), ("er", ""), ("e", ""), ("", "e"), ("", "en")), _UMLAUTS
    ),
    # kirja|n|pito; satunnai(nen)|s|luku
    "fi": _Compounding((("n", ""), ("s", "nen")), _UMLAUTS[:2], has_gradation=True),
    "nl": _Compounding((("s", ""), ("en", ""), ("e", ""))),
    "no": _DANISH,
    # arbet|s|plats; skol(a)|bok
    "sv": _Compounding((("s", ""), ("", "a")), (("ae", "ä"), ("oe", "ö"), ("aa", "å"))),
}


def _end_to_end(pairs: Iterable[tuple[str, str]]) -> NDArray[np.uint8]:
    """Texts for C, each with a 0 behind it."""
    return np.frombuffer("".join(f"{text}\0" for pair in pairs for text in pair).encode(), np.uint8)


class Compounds:
    """Splits words of one language by the terms of a vocabulary. Threads may share it.

    Attributes:
        signs: what a word contains that has a second spelling.
    """

    def __init__(self, vocabulary: Vocabulary, spellings: Spellings, language: str) -> None:
        self._vocabulary = vocabulary
        self._spellings = spellings
        self._language = language
        self._rules = COMPOUNDING[language]
        self._term_ids = vocabulary.term_ids(language)
        self.signs = [each for spelling in self._rules.spellings for each in spelling]
        self._respelled = re.compile("|".join(self.signs)) if self.signs else None
        n_frequent = int(_FREQUENT_SHARE * len(self._term_ids))
        self._last_frequent = int(self._term_ids[n_frequent - 1]) if n_frequent else _NONE
        self._texts = [_end_to_end(self._rules.links), _end_to_end(self._rules.spellings)]  # to which the struct points
        self._struct = native.CompoundingStruct(
            vocabulary.struct,
            vocabulary.languages.index(language),
            address(self._term_ids),
            len(self._term_ids),
            self._last_frequent,
            *(value for text in self._texts for value in (address(text), len(text))),
            language_seed(language),
        )

    def respelled(self, word: str) -> int | None:
        """The id of the term that is the word with `ä` for `ae` and so on, or with `ae` for `ä`; None if none is."""
        found = self._find_respelled(word)
        return None if found == _NONE else found

    def parts(self, word: str) -> tuple[int, ...]:
        """The term ids of the parts of a normalised word in reading order: one for an inflected form of a term, none
        for a word without a split and for one of more than 64 letters."""
        if len(word) > MAX_LETTERS:
            return ()
        stemmed = stem(word, self._language)
        whole = self._by_stem(word, stemmed)
        if whole != _NONE:
            return (whole,)
        found = self._split(word, stemmed)
        if not found and (whole := self._by_gradation(stemmed)) != _NONE:
            return (whole,)
        return found

    def _split(self, word: str, stemmed: str) -> tuple[int, ...]:
        """Two to four parts; none if there is no split."""
        encoded = word.encode("utf-8", "surrogatepass")
        n_begun, whole = np.empty(_MAX_PARTS - 1, np.int64), np.empty(_MAX_PARTS, np.int32)
        ends = np.empty((_MAX_PARTS - 1, MAX_LETTERS + 1), np.int32)
        parts = np.empty((*ends.shape, _MAX_PARTS - 1), np.int32)
        n_parts = native.split_word(
            byref(self._struct), encoded, len(encoded), len(stemmed),
            address(n_begun), address(ends), address(parts), address(whole),
        )  # fmt: skip
        # C ends where the last part is a term. After fewer parts, it may be an inflected one.
        inflected: dict[int, int] = {}
        for n_before in range(1, n_parts - 1 if n_parts else _MAX_PARTS):
            found: list[tuple[int, tuple[int, ...]]] = []
            begun = slice(int(n_begun[n_before - 1]))
            for start, before in zip(
                ends[n_before - 1, begun].tolist(), parts[n_before - 1, begun, :n_before].tolist(), strict=True
            ):
                if len(stemmed) - start < _LEAST_LETTERS:
                    continue
                if start not in inflected:
                    inflected[start] = self._inflected(word[start:], stemmed[start:])
                if inflected[start] != _NONE:
                    split = *before, inflected[start]
                    found.append((prod(map(self._rank, split)), split))
            if found:
                return min(found)[1]
        return tuple(whole[:n_parts].tolist())

    def _inflected(self, form: str, stemmed: str) -> int:
        found = self._by_stem(form, stemmed)
        return self._by_gradation(stemmed) if found == _NONE else found

    def _by_stem(self, form: str, stemmed: str) -> int:
        """The term that is the form without an ending of the links (`helligkeit|en`), or its stem with the letters of
        the form or of the stemmer (`kanäl` and `kanal`); or else the most frequent one at Levenshtein distance 1 from
        the stem that has this stem."""
        if len(stemmed) < MIN_LETTERS:
            return _NONE
        bases = [form[: -len(cut)] for cut, _ in self._rules.links if cut and form.endswith(cut)]
        for base in (*filter(lambda base: len(base) >= len(stemmed), bases), form[: len(stemmed)], stemmed):
            found = self._find(base, len(base))
            if found != _NONE:
                return found
        return next((found for found, term in self._near(stemmed) if stem(term, self._language) == stemmed), _NONE)

    def _by_gradation(self, stemmed: str) -> int:
        """The most frequent term at Levenshtein distance 1 from the stem that differs in its last two letters."""
        if not self._rules.has_gradation or len(stemmed) < _LEAST_LETTERS_OF_GRADATION:
            return _NONE
        return next((found for found, term in self._near(stemmed) if term.startswith(stemmed[:-2])), _NONE)

    def _near(self, form: str) -> Iterator[tuple[int, str]]:
        for term_id in self._spellings.neighbours(self._language, form):
            yield term_id, self._vocabulary.term(term_id)[1]

    def _find(self, term: str, n_letters: int) -> int:
        """The id of a term, if the letters that a word has of it are enough."""
        found = self._vocabulary.find(self._language, term)
        if found == _NONE and self._respelled is not None and self._respelled.search(term) is not None:
            found = self._find_respelled(term)
        return found if n_letters > _LEAST_LETTERS or found <= self._last_frequent else _NONE

    def _find_respelled(self, word: str) -> int:
        if self._respelled is None or self._respelled.search(word) is None:
            return _NONE
        for one, other in ((0, 1), (1, 0)):
            form = word
            for spelling in self._rules.spellings:
                form = form.replace(spelling[one], spelling[other])
            if form != word and (found := self._vocabulary.find(self._language, form)) != _NONE:
                return found
        return _NONE

    def _rank(self, term_id: int) -> int:
        """The place of a term among those of its language, 1 for the most frequent."""
        return int(self._term_ids.searchsorted(term_id)) + 1
