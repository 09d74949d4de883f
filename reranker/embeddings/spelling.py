"""Turns a misspelled or inflected word into the term of its language at Levenshtein distance 1, from a memory-mapped
index; it knows nothing of vectors.

`spellings.npy` holds a number for each letter of each term: a hash of the term without that letter in the upper 32
bits, the term id in the lower, sorted. Two words of one length differ in one letter exactly if both leave the same
when that letter is taken out; a word is one letter shorter than a term if it is what that term leaves; it is one
letter longer only if the term leaves the same without its first letter as the word without its own and one more. So a
word of n letters takes 2n binary searches, however many letters its alphabet has. This is the deletion neighbourhood of
Bocek, Hunt and Stiller 2007 for one edit; each hit is checked.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from reranker.embeddings.vocabulary import Vocabulary, language_seed, open_array
from reranker.text.tokens import LONGEST_CACHED_TOKEN

SPELLINGS = "spellings.npy"

# At distance 1 a third of a word of three letters is another. In the LibreOffice embeddings the mean cosine between a
# frequent word and its nearest spelling is 0.22 to 0.34 at three letters and 0.32 to 0.63 at four (docs/methods.md).
MIN_LETTERS = 4
# Longer tokens are no words, and their neighbourhood grows with their length.
MAX_LETTERS = LONGEST_CACHED_TOKEN

_CHUNK_TERMS = 65_536
# A table of where the entries of each leading 16 bits begin, 0.5 MB: of 5 million entries it is made in 10 ms and takes
# a third off a look-up, whose time is that of reading far places of memory.
_LEADING_BITS = 16
_TRAILING_BITS = 64 - _LEADING_BITS
_LARGEST_ID = 0xFFFFFFFF
_HASH_BITS = ~np.uint64(_LARGEST_ID)
# A polynomial hash modulo 2**64. Its base is odd, with bits all over; the second number is 2**64 over the golden ratio,
# as an odd number (Knuth 6.4), and spreads what differs in low bits over the upper half.
_BASE = 0xD6E8FEB86659FD93
_GOLDEN = 0x9E3779B97F4A7C15


class Spellings:
    """The terms of a vocabulary by what they leave without one letter."""

    def __init__(self, vocabulary: Vocabulary, entries: NDArray[np.uint64]) -> None:
        self.entries = entries
        self._numbers = entries.data  # the same memory; indexing it takes a third of the time of indexing an array
        self._vocabulary = vocabulary
        leading = np.arange(1 << _LEADING_BITS, dtype=np.uint64) << np.uint64(_TRAILING_BITS)
        self._starts = np.append(entries.searchsorted(leading), len(entries)).data
        self._offsets = {language: _language_offset(language) for language in vocabulary.languages}

    @classmethod
    def open(cls, folder: Path, vocabulary: Vocabulary) -> Spellings:
        """Maps the file of a store; one made before there was such a file has its entries computed, in memory.

        Raises:
            BadEmbeddings: the file is not of the size that the vocabulary asks for.
        """
        if not (folder / SPELLINGS).exists():
            return cls(vocabulary, spelling_entries(vocabulary))
        mapped = open_array(folder / SPELLINGS, np.uint64, (vocabulary.n_letters(),))
        return cls(vocabulary, np.asarray(mapped))

    def nearest(self, language: str, word: str) -> int | None:
        """The id of the language's term at Levenshtein distance 1 from a normalised word: one letter more, less or
        other. Of several the one of the lowest id: the most frequent, and of equally frequent ones the first of the
        alphabet, since terms are written in this order. None for words under 4 letters or over 64.
        """
        offset = self._offsets.get(language)
        if offset is None or not MIN_LETTERS <= len(word) <= MAX_LETTERS:
            return None
        keys = _keys(_letters(word) @ _factors(len(word)), offset)
        for term_id in sorted(set(self._filed_under(keys))):
            if self._is_neighbour(language, word, term_id):
                return term_id
        return None

    def _filed_under(self, keys: NDArray[np.uint64]) -> list[int]:
        """The term ids of the entries with these keys, in any order, some more than once."""
        numbers, starts = self._numbers, self._starts
        found = []
        for key in keys.tolist():
            leading = key >> _TRAILING_BITS
            place = bisect_left(numbers, key, starts[leading], starts[leading + 1])
            while place < len(numbers) and (term_id := numbers[place] ^ key) <= _LARGEST_ID:
                found.append(term_id)
                place += 1
        return found

    def _is_neighbour(self, language: str, word: str, term_id: int) -> bool:
        # A damaged file may name any number; a hash may stand for two spellings, and a swap of two letters leaves the
        # same as well.
        if term_id >= len(self._vocabulary):
            return False
        found, term = self._vocabulary.term(term_id)
        return found == language and Levenshtein.distance(term, word, score_cutoff=1) == 1


def spelling_entries(vocabulary: Vocabulary) -> NDArray[np.uint64]:
    """(n_letters,) uint64, ascending: hash · 2³² + term id for each term and each letter that it may lose."""
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


@cache
def _factors(n_letters: int) -> NDArray[np.uint64]:
    """(n, 2n): the letters of a word times these are the hashes of what it leaves without its letter i in column i, of
    itself in column n, and without its first and its letter i in column n + i."""
    place, taken_out = np.arange(n_letters)[:, None], np.arange(n_letters + 1)
    # Letters behind the one that is taken out move up by one.
    single = np.where(place == taken_out, 0, _powers(n_letters + 1)[place + (place < taken_out)])
    factors = np.zeros((n_letters, 2 * n_letters), dtype=np.uint64)
    factors[:, : n_letters + 1] = single
    factors[1:, n_letters + 1 :] = single[:-1, :-2]
    return factors


def _sums(letters: NDArray[np.uint64], places: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two running sums from 0, (n + 1,) each, modulo 2**64: of letter · power(place + 1), and of letter · power(place),
    which is for letters that move up by one."""
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
    """What the hashes of a language's terms are moved by, so that those of two languages differ."""
    return np.uint64((language_seed(language) * _GOLDEN << 32) % 2**64)


def _keys(hashes: NDArray[np.uint64], offsets: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """Hashes in the upper 32 bits, the lower ones 0."""
    return (hashes + offsets) & _HASH_BITS
