"""Finds the known words that an unknown word consists of: `bildschirm` and `helligkeit` of `bildschirmhelligkeit`.

A word is split into the fewest parts that are all terms of its language. Of several splits the one with the highest
geometric mean of frequencies is taken (Koehn and Knight 2003, "Empirical methods for compound splitting", EACL); the
rank in the vocabulary stands for the frequency, by Zipf's law. All parts but the last may have a linking element
(Langer 1998, "Zur Morphologie und Semantik von Nominalkomposita"), and the last part may be inflected.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, byref
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.spelling import MAX_LETTERS, Spellings
from reranker.embeddings.stem_keys import StemKeys
from reranker.embeddings.vocabulary import Vocabulary, language_seed
from reranker.native import text as native
from reranker.native.library import address
from reranker.text.stems import stem_all

# A term of three letters is often a fragment or a name. As a part it must be one of the most frequent terms: of German
# XQuAD `bau|recht` is split then, and `dia|log` is not.
_FREQUENT_SHARE = 0.05

# More than these are chance: a word of four parts has some twenty letters.
_MAX_PARTS = 4

# Most words ask for the stem of one term or of none.
_ASKED_A_WORD = 4


@dataclass(frozen=True, slots=True)
class _Compounding:
    """How a language makes compounds.

    Attributes:
        links: (cut, restored): endings that a part takes within a compound, and what its term has instead.
        spellings: (plain, letter): how a letter is written where it is missing on the keyboard; both have as many bytes
            in UTF-8.
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


def _for_c(pairs: Sequence[tuple[str, str]]) -> NDArray[np.void]:
    rows = [(one.encode(), other.encode(), len(one.encode()), len(other.encode()), len(one)) for one, other in pairs]
    return np.array(rows, native.PAIR)


class Compounds:
    """Splits words of one language by the terms of a vocabulary, in C. Threads may share it.

    Attributes:
        address: of the rules for C.
    """

    def __init__(self, vocabulary: Vocabulary, spellings: Spellings, stem_keys: StemKeys, language: str) -> None:
        self._language = language
        self._stem_keys = stem_keys
        rules = COMPOUNDING[language]
        term_ids = vocabulary.term_ids(language)
        n_frequent = int(_FREQUENT_SHARE * len(term_ids))
        links, respelled = _for_c(rules.links), _for_c(rules.spellings)
        self._struct = native.CompoundingStruct(
            vocabulary.struct,
            vocabulary.languages.index(language),
            address(term_ids),
            len(term_ids),
            int(term_ids[n_frequent - 1]) if n_frequent else -1,
            address(links),
            len(links),
            address(respelled),
            len(respelled),
            spellings.struct,
            int(spellings.offset(language)),
            address(stem_keys.known),
            rules.has_gradation,
            language_seed(language),
        )
        self._arrays = vocabulary, spellings, term_ids, links, respelled  # to which the struct points
        self.address = addressof(self._struct)

    def parts(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Of each normalised word the term ids of its parts in reading order: one for an inflected form of a term, none
        for a word without a split and for one of more than 64 letters."""
        found: list[tuple[int, ...]] = [()] * len(words)
        waiting = [place for place, word in enumerate(words) if len(word) <= MAX_LETTERS]
        while waiting:
            each = [words[place] for place in waiting]
            given, stems = native.Texts.of(each), native.Texts.of(stem_all(each, self._language))
            n_parts, parts = np.empty(len(each), np.int32), np.empty((len(each), _MAX_PARTS), np.int32)
            asked = np.empty(_ASKED_A_WORD * len(each), np.int32)
            texts = byref(given.struct), byref(stems.struct)
            n = native.split_words(self.address, *texts, n_parts, parts, asked, len(asked))
            numbers = n_parts.tolist()
            for place, own, n_own in zip(waiting, parts.tolist(), numbers, strict=True):
                found[place] = tuple(own[: max(n_own, 0)])
            waiting = [place for place, n_own in zip(waiting, numbers, strict=True) if n_own < 0]
            self._stem_keys.of_terms(asked[:n])
        return found
