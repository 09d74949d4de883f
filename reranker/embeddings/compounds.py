"""Finds the known words that an unknown word consists of: `bildschirm` and `helligkeit` of `bildschirmhelligkeit`.

A word is split into the fewest parts that are all terms of its language. Of several splits the one with the highest
geometric mean of frequencies is taken (Koehn and Knight 2003, "Empirical methods for compound splitting", EACL); the
rank in the vocabulary stands for the frequency, by Zipf's law. All parts but the last may have a linking element
(Langer 1998, "Zur Morphologie und Semantik von Nominalkomposita"), and the last part may be inflected.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import addressof, c_int32
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.spelling import MAX_LETTERS, Spellings
from reranker.embeddings.vocabulary import Vocabulary, language_seed
from reranker.native import text as native
from reranker.native.library import address
from reranker.text.stems import stem

# A term of three letters is often a fragment or a name. As a part it must be one of the most frequent terms: of German
# XQuAD `bau|recht` is split then, and `dia|log` is not.
_FREQUENT_SHARE = 0.05

# More than these are chance: a word of four parts has some twenty letters.
_MAX_PARTS = 4

_MAX_ASKED = 64
"""As MOST_ASKED of `compounds.c`."""


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
    """Splits words of one language by the terms of a vocabulary, in C. Threads may share it.

    Attributes:
        address: of the rules for C.
    """

    def __init__(self, vocabulary: Vocabulary, spellings: Spellings, language: str) -> None:
        self._vocabulary = vocabulary
        self._language = language
        rules = COMPOUNDING[language]
        self._term_ids = vocabulary.term_ids(language)
        n_frequent = int(_FREQUENT_SHARE * len(self._term_ids))
        # A term is stemmed when it is first compared with a stem. Two threads write the same.
        self._stems = np.zeros(len(self._term_ids), np.int64)
        self._spellings = spellings
        self._texts = [_end_to_end(rules.links), _end_to_end(rules.spellings)]  # to which the struct points
        self._struct = native.CompoundingStruct(
            vocabulary.struct,
            vocabulary.languages.index(language),
            address(self._term_ids),
            len(self._term_ids),
            int(self._term_ids[n_frequent - 1]) if n_frequent else -1,
            *(value for text in self._texts for value in (address(text), len(text))),
            spellings.struct,
            int(spellings.offset(language)),
            address(self._stems),
            rules.has_gradation,
            language_seed(language),
        )
        self.address = addressof(self._struct)

    def respelled(self, word: str) -> int | None:
        """The id of the term that is the word with `ä` for `ae` and so on, or with `ae` for `ä`; None if none is, and
        for a word of more than 64 letters."""
        encoded = word.encode("utf-8", "surrogatepass")
        found: int = native.respelled_term(self.address, encoded, len(encoded))
        return None if found < 0 else found

    def parts(self, word: str) -> tuple[int, ...]:
        """The term ids of the parts of a normalised word in reading order: one for an inflected form of a term, none
        for a word without a split and for one of more than 64 letters."""
        if len(word) > MAX_LETTERS:
            return ()
        encoded, stemmed = word.encode("utf-8", "surrogatepass"), stem(word, self._language).encode()
        parts, asked = (c_int32 * _MAX_PARTS)(), (c_int32 * _MAX_ASKED)()
        while True:
            n = native.split_word(self.address, encoded, len(encoded), stemmed, len(stemmed), parts, asked)
            if n >= 0:
                return tuple(parts[:n])
            for place in asked[:-n]:
                self._keep_stem(place)

    def _keep_stem(self, place: int) -> None:
        _, term = self._vocabulary.term(int(self._term_ids[place]))
        stemmed = stem(term, self._language).encode()
        self._stems[place] = native.stem_key(stemmed, len(stemmed))
