"""Finds the term at Levenshtein distance 1 from a misspelled or inflected word, in a memory-mapped index.

`spellings.npy` has one sorted number for each letter of each term: the upper 32 bits are a hash of the term without
that letter, the lower 32 bits are the term id. A word is looked up by three kinds of hashes:

- the word without one letter: finds terms of the same length that differ in that letter;
- the word itself: finds terms with one letter more;
- the word without its first letter and one more: finds terms with one letter fewer, by their entry without the first.

So a word of n letters takes 2n binary searches, whatever the alphabet. This is the deletion neighbourhood of Bocek,
Hunt and Stiller 2007 for one edit. Each hit is checked by its Levenshtein distance.
"""

from __future__ import annotations

from ctypes import byref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.vocabulary import Vocabulary, language_seed, open_array
from reranker.native import text as native
from reranker.native.library import address
from reranker.text.tokens import LONGEST_CACHED_TOKEN

SPELLINGS = "spellings.npy"

# Longer tokens are not words, and the work grows with the length.
MAX_LETTERS = LONGEST_CACHED_TOKEN

_CHUNK_TERMS = 65_536
# A table of where the entries begin for each value of the leading 16 bits: 0.5 MB, made in 10 ms for 5 million entries.
# It saves a third of a look-up, since fewer distant places of memory are read.
_LEADING_BITS = 16
_TRAILING_BITS = 64 - _LEADING_BITS
_HASH_BITS = ~np.uint64(0xFFFFFFFF)
# A polynomial hash modulo 2**64 with an odd base. The second number is 2**64 divided by the golden ratio, made odd
# (Knuth 6.4). It spreads differences in the low bits over the upper half.
_BASE = 0xD6E8FEB86659FD93
_GOLDEN = 0x9E3779B97F4A7C15


class Spellings:
    """The index of a vocabulary's terms by their spelling without one letter.

    Attributes:
        entries: as `spelling_entries` makes them.
        starts: (2^16 + 1,) int64, where the entries begin for each value of the leading 16 bits, and where they end.
        struct: both for C.
    """

    def __init__(self, vocabulary: Vocabulary, entries: NDArray[np.uint64]) -> None:
        self._vocabulary = vocabulary
        leading = np.arange(1 << _LEADING_BITS, dtype=np.uint64) << np.uint64(_TRAILING_BITS)
        self.entries, self.starts = entries, np.append(entries.searchsorted(leading), len(entries))
        self.struct = native.SpellingsStruct(address(self.entries), address(self.starts), len(self.entries))
        self._offsets = {language: _language_offset(language) for language in vocabulary.languages}

    @classmethod
    def open(cls, folder: Path, vocabulary: Vocabulary) -> Spellings:
        """Maps the file of a store.

        Raises:
            BadEmbeddings: the file is missing, or has not one entry for each letter of the vocabulary.
        """
        mapped = open_array(folder / SPELLINGS, np.uint64, (vocabulary.n_letters(),))
        return cls(vocabulary, np.asarray(mapped))

    def offset(self, language: str) -> np.uint64:
        """What is added to the hashes of a language of the vocabulary."""
        return self._offsets[language]

    def nearest(self, language: str, word: str) -> int | None:
        """The id of the language's term at Levenshtein distance 1 from a normalised word, or None.

        Of several terms it is the one with the lowest id, which is the most frequent. None for words of fewer than 4 or
        more than 64 letters.
        """
        offset = self._offsets.get(language)
        if offset is None:
            return None
        place, encoded = self._vocabulary.languages.index(language), word.encode("utf-8", "surrogatepass")
        structures = byref(self.struct), byref(self._vocabulary.struct)
        found: int = native.nearest_spelling(*structures, place, int(offset.astype(np.int64)), encoded, len(encoded))
        return None if found < 0 else found


def spelling_entries(vocabulary: Vocabulary) -> NDArray[np.uint64]:
    """(n_letters,) uint64, ascending: hash of a term without one letter · 2³² + term id, for each letter."""
    entries = np.empty(vocabulary.n_letters(), dtype=np.uint64)
    offsets = np.array([_language_offset(language) for language in vocabulary.languages], dtype=np.uint64)
    filled = 0
    for first in range(0, len(vocabulary), _CHUNK_TERMS):
        end = min(first + _CHUNK_TERMS, len(vocabulary))
        text, lengths = vocabulary.letters(first, end)
        letters = _letters(text)
        ends = np.cumsum(lengths)
        places = np.arange(len(letters)) - np.repeat(ends - lengths, lengths)
        before, after = _sums(letters, places)
        kept_before = before[:-1] - np.repeat(before[ends - lengths], lengths)
        kept_after = np.repeat(after[ends], lengths) - after[1:]
        keys = _keys(kept_before + kept_after, np.repeat(offsets[vocabulary.places[first:end]], lengths))
        term_ids = np.repeat(np.arange(first, end, dtype=np.uint64), lengths)
        entries[filled : filled + len(letters)] = keys | term_ids
        filled += len(letters)
    entries.sort()
    return entries


def _letters(text: str) -> NDArray[np.uint64]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)


def _sums(letters: NDArray[np.uint64], places: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two running sums from 0, (n + 1,) each, modulo 2**64: of letter · power(place + 1), and of letter · power(place)
    for letters that move up by one place."""
    powers = _powers(int(places.max()) + 2)
    zero = np.zeros(1, dtype=np.uint64)
    standing = np.cumsum(letters * powers[places + 1], dtype=np.uint64)
    moved = np.cumsum(letters * powers[places], dtype=np.uint64)
    return np.concatenate([zero, standing]), np.concatenate([zero, moved])


def _powers(n: int) -> NDArray[np.uint64]:
    """(n,) golden · base^k, modulo 2**64."""
    powers = np.full(n, _BASE, dtype=np.uint64)
    powers[0] = _GOLDEN
    return np.cumprod(powers, dtype=np.uint64)


def _language_offset(language: str) -> np.uint64:
    """A number that is added to the hashes of a language's terms, so that the hashes of two languages differ."""
    return np.uint64((language_seed(language) * _GOLDEN << 32) % 2**64)


def _keys(hashes: NDArray[np.uint64], offsets: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """The sums with their lower 32 bits set to 0."""
    return (hashes + offsets) & _HASH_BITS
