"""Turns (language, term) into a term id and back, with memory-mapped files that all processes of a host share.

The files are four arrays: `term_bytes` (concatenated UTF-8), `term_offsets` (where each term starts), `languages` (the
position of each term's language in the list of languages) and `slots`, an open-addressing hash table of term ids + 1 (0
is empty). Opening decodes no terms; a look-up probes one or two slots.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadEmbeddings
from reranker.embeddings.manifest import MAKE_AGAIN
from reranker.native import text as native
from reranker.native.library import address

TERM_BYTES = "term_bytes.npy"
TERM_OFFSETS = "term_offsets.npy"
LANGUAGES = "languages.npy"
SLOTS = "slots.npy"

_MAX_LANGUAGES = 256  # a language's place is one byte
_MAX_TERMS = 2**31 - 1  # term ids travel as int32
# Multiplicative hashing (Knuth, The Art of Computer Programming 6.4): 2**32 divided by the golden ratio, made odd. It
# spreads the checksums of similar terms, which differ in few bits, over the table.
_GOLDEN = 0x9E3779B1


def open_array(path: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """A read-only memory map of an `.npy` file with a checked type and shape.

    Raises:
        BadEmbeddings: the file is missing, cut short, or of another type or shape.
    """
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadEmbeddings(f"{path} cannot be read ({error}); the embedding store is damaged: {MAKE_AGAIN}") from error
    if mapped.dtype != np.dtype(dtype) or mapped.shape != shape:
        raise BadEmbeddings(
            f"{path} holds {mapped.dtype} of shape {mapped.shape}, but meta.json says {np.dtype(dtype)} of "
            f"shape {shape}; the embedding store is damaged: {MAKE_AGAIN}"
        )
    return mapped


def language_seed(language: str) -> int:
    """The initial value of the checksums of a language's terms, so that those of two languages differ."""
    return crc32(language.encode() + b"\0")


def _n_slot_bits(n_terms: int) -> int:
    """The binary logarithm of the table's size. The table is at most half full, so linear probing takes 1.5 probes for
    a hit and 2.5 for a miss on average (Knuth 6.4, theorem K)."""
    return max(1, (2 * n_terms - 1).bit_length())


def _fill_slots(checksums: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Makes the hash table of all terms at once, by linear probing: a term whose slot is taken tries the next one.

    Args:
        checksums: (n_terms,) CRC-32 of each term, by term id.

    Returns:
        (n_slots,) term id + 1, or 0.
    """
    n_bits = _n_slot_bits(len(checksums))
    slots = np.zeros(1 << n_bits, dtype=np.uint32)
    places = ((checksums * np.uint32(_GOLDEN)) >> np.uint32(32 - n_bits)).astype(np.int64)
    waiting = np.arange(len(checksums), dtype=np.int64)
    while len(waiting):
        free = waiting[slots[places[waiting]] == 0]
        _, first = np.unique(places[free], return_index=True)
        slots[places[free[first]]] = free[first] + 1
        waiting = waiting[slots[places[waiting]] != waiting + 1]
        places[waiting] = (places[waiting] + 1) & (len(slots) - 1)
    return slots


class Vocabulary:
    """The terms of an embedding store, opened read-only.

    Attributes:
        languages: the language codes, in the order of the store.
        places: (n_terms,) uint8, the position in `languages` of each term's language.
        arrays: term_bytes, term_offsets, places and slots.
        struct: these arrays for C.
    """

    def __init__(
        self,
        languages: Sequence[str],
        term_bytes: NDArray[np.uint8],
        term_offsets: NDArray[np.int64],
        places: NDArray[np.uint8],
        slots: NDArray[np.uint32],
    ) -> None:
        self.languages = tuple(languages)
        self.places = places
        self._codes = {language: (place, language_seed(language)) for place, language in enumerate(languages)}
        self._term_ids: dict[str, NDArray[np.int64]] = {}
        self._shift = 32 - (len(slots).bit_length() - 1)
        self.arrays = np.asarray(term_bytes), np.asarray(term_offsets), np.asarray(places), np.asarray(slots)
        # Indexing a memoryview takes a third of the time of indexing an array, and returns Python integers.
        self._bytes, self._offsets, self._places, self._slots = (each.data for each in self.arrays)
        self.struct = native.VocabularyStruct(*[address(each) for each in self.arrays], len(slots), len(places))

    @classmethod
    def open(cls, folder: Path, languages: Sequence[str], n_terms: int, n_term_bytes: int) -> Vocabulary:
        """Maps the four files of a store.

        Raises:
            BadEmbeddings: a file is missing, has another size, or refers to places outside of another file.
        """
        term_bytes = open_array(folder / TERM_BYTES, np.uint8, (n_term_bytes,))
        offsets = open_array(folder / TERM_OFFSETS, np.int64, (n_terms + 1,))
        places = open_array(folder / LANGUAGES, np.uint8, (n_terms,))
        slots = open_array(folder / SLOTS, np.uint32, (1 << _n_slot_bits(n_terms),))
        # Takes a few milliseconds at half a million terms. After it no look-up can leave the files or loop forever.
        sound = (
            offsets[0] == 0
            and offsets[-1] == n_term_bytes
            and bool((np.diff(offsets) > 0).all())
            and int(places.max(initial=0)) < len(languages)
            and int(slots.max(initial=0)) <= n_terms
            and np.count_nonzero(slots) == n_terms
        )
        if not sound:
            raise BadEmbeddings(f"the vocabulary in {folder} is damaged (its files disagree); {MAKE_AGAIN}")
        return cls(languages, term_bytes, offsets, places, slots)

    def __len__(self) -> int:
        return len(self._places)

    def find(self, language: str, term: str) -> int:
        """The id of a normalised term, or -1."""
        code = self._codes.get(language)
        if code is None:
            return -1
        place, seed = code
        key = term.encode("utf-8", "surrogatepass")
        slots, offsets, places = self._slots, self._offsets, self._places
        slot = (crc32(key, seed) * _GOLDEN & 0xFFFFFFFF) >> self._shift
        while entry := slots[slot]:
            if places[entry - 1] == place:  # the cheapest test that rules out most other terms
                start, end = offsets[entry - 1], offsets[entry]
                if end - start == len(key) and self._bytes[start:end] == key:
                    return entry - 1
            slot = (slot + 1) & (len(slots) - 1)
        return -1

    def term(self, term_id: int) -> tuple[str, str]:
        """The language and the term of an id.

        Raises:
            IndexError: no term has this id.
        """
        if not 0 <= term_id < len(self):
            raise IndexError(f"term id {term_id} is not in 0 to {len(self) - 1}")
        start, end = self._offsets[term_id], self._offsets[term_id + 1]
        return self.languages[self._places[term_id]], bytes(self._bytes[start:end]).decode()

    def term_ids(self, language: str) -> NDArray[np.int64]:
        """The ids of a language's terms, the most frequent first, which are found once; not to be changed. Empty if the
        store does not contain the language."""
        if language not in self._codes:
            return np.empty(0, dtype=np.int64)
        if language not in self._term_ids:
            self._term_ids[language] = np.flatnonzero(self.places == self._codes[language][0])
            self._term_ids[language].flags.writeable = False
        return self._term_ids[language]

    def terms(self, language: str) -> Iterator[tuple[int, str]]:
        """The (term id, term) of one language, the most frequent first."""
        for term_id in self.term_ids(language).tolist():
            yield term_id, self.term(term_id)[1]

    def n_letters(self) -> int:
        """The number of letters (code points) of all terms. Reads all terms."""
        return int(np.count_nonzero(_starts_letter(self.arrays[0])))

    def letters(self, first: int, end: int) -> tuple[str, NDArray[np.int64]]:
        """The concatenated terms with ids from `first` to `end` - 1, and (end - first,) their numbers of letters."""
        offsets = np.asarray(self._offsets[first : end + 1])
        text = np.asarray(self._bytes[offsets[0] : offsets[-1]])
        n_letters = np.concatenate([np.zeros(1, np.int64), np.cumsum(_starts_letter(text), dtype=np.int64)])
        return bytes(text).decode(), np.diff(n_letters[offsets - offsets[0]])

    def digest(self) -> bytes:
        """A hash of languages and terms in order."""
        hasher = blake2b(",".join(self.languages).encode() + b"\0", digest_size=16)
        term_bytes, offsets, places, _ = self.arrays
        for values in (offsets, places, term_bytes):
            hasher.update(np.ascontiguousarray(values).data)
        return hasher.digest()


class VocabularyBuilder:
    """Collects terms in the order of their ids and makes the four arrays. Repeated terms of a language are ignored.

    Attributes:
        counts: number of terms of each language; languages in the order of their first term.
        n_term_bytes: total length of the terms in UTF-8.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._seen: dict[str, set[str]] = {}
        self._codes: dict[str, tuple[int, int]] = {}
        self._bytes = bytearray()
        self._offsets = array("q", [0])
        self._places = bytearray()
        self._checksums = array("I")

    def __len__(self) -> int:
        return len(self._places)

    @property
    def n_term_bytes(self) -> int:
        return len(self._bytes)

    def add(self, language: str, term: str) -> bool:
        """Gives a term the next id. False if the language has the term already.

        Raises:
            BadEmbeddings: the term is empty or not Unicode text, or there are too many terms or languages.
        """
        if language not in self._codes:
            self._add_language(language)
        seen = self._seen[language]
        if term in seen:
            return False
        place, seed = self._codes[language]
        try:
            key = term.encode()
        except UnicodeEncodeError as error:
            raise BadEmbeddings(f"the term {term!r} is not Unicode text ({error}); leave it out") from error
        if not key:
            raise BadEmbeddings(f"a term of language {language!r} is empty; leave it out")
        if len(self) >= _MAX_TERMS:
            raise BadEmbeddings(f"a store holds at most {_MAX_TERMS:,} terms; give fewer per language")
        seen.add(term)
        self.counts[language] += 1
        self._places.append(place)
        self._bytes += key
        self._offsets.append(len(self._bytes))
        self._checksums.append(crc32(key, seed))
        return True

    def _add_language(self, language: str) -> None:
        if len(self._codes) >= _MAX_LANGUAGES:
            raise BadEmbeddings(f"a store holds at most {_MAX_LANGUAGES} languages; split the embeddings")
        self._codes[language] = (len(self._codes), language_seed(language))
        self._seen[language] = set()
        self.counts[language] = 0

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays to write, by file name."""
        return {
            TERM_BYTES: np.frombuffer(self._bytes, dtype=np.uint8),
            TERM_OFFSETS: np.array(self._offsets, dtype=np.int64),
            LANGUAGES: np.frombuffer(self._places, dtype=np.uint8),
            SLOTS: _fill_slots(np.array(self._checksums, dtype=np.uint32)),
        }


def _starts_letter(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which bytes of UTF-8 begin a letter: all except those of the form 10xxxxxx."""
    starts: NDArray[np.bool_] = (np.asarray(text) & 0xC0) != 0x80
    return starts
