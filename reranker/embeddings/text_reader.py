"""Reads many texts at once in C: their bags of words, and how many words of each a language knows.

The result is that of the Python functions: `reranker.text.tokens` says what a token is. C covers what is not rare; of
the other pieces of texts it asks these functions. Of words that may have parts it asks `StandIns`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.unknown import StandIns
from reranker.embeddings.vocabulary import Vocabulary, VocabularyBuilder, language_seed
from reranker.native import text as native
from reranker.native.library import address
from reranker.text.bags import LONG_TEXT, MAX_UNKNOWN_HASHES, BagOfWords
from reranker.text.normalization import REPLACED, UNDETERMINED
from reranker.text.token_places import token_places
from reranker.text.tokens import MAX_TOKENS, UNACCENTED_STOP_WORDS, letter_tokens, stop_words, tokenize

_FLAGS = {
    "az": native.UNDOTTED_I,
    "be": native.LETTER_APOSTROPHE,
    "ca": native.JOINED_L,
    "tr": native.UNDOTTED_I,
    "uk": native.LETTER_APOSTROPHE,
}
# Of each kind of flags a language that replaces no letters.
_WITH_FLAGS = {0: UNDETERMINED} | {flags: code for code, flags in _FLAGS.items()}
_SURROGATES = "surrogatepass"  # half a pair comes in from JSON

_PieceTokens = tuple[list[str], list[tuple[int, int]] | None]


class TextReader:
    """Reads texts by the words of one embedding store. Threads may share it."""

    def __init__(self, vocabulary: Vocabulary, stand_ins: StandIns) -> None:
        self._vocabulary = vocabulary
        self._stand_ins = stand_ins
        self._lock = threading.Lock()
        self._languages = self._own_languages = _Languages(vocabulary, stand_ins, vocabulary.languages)
        self._for_words = self._reader(self._own_languages, native.ReadPiece())

    def stand_in(self, language: str, token: str) -> int | None:
        """The term that stands for all of a normalised word of a language of the store that is no term itself."""
        encoded = token.encode("utf-8", _SURROGATES)
        number = self._own_languages.numbers[language]
        found: int = native.stand_in(ctypes.byref(self._for_words), number, encoded, len(encoded))
        return None if found < 0 else found

    def read(
        self,
        texts: Sequence[str],
        languages: Sequence[str],
        most_words: int = MAX_TOKENS,
        with_places: bool = False,
    ) -> ReadTexts:
        """The words of each text.

        Args:
            most_words: and as many numbers are read of each.
            with_places: whether to tell where they stand.
        """
        all_languages = self._with(languages)
        given = native.Texts.of(texts)
        most = min(given.n_bytes, 2 * most_words * len(texts))
        # Stop words are no tokens, and those that are compared without accents have any number of spellings.
        is_unaccented = not UNACCENTED_STOP_WORDS.isdisjoint(languages)
        words = _WordBuffers(given.n_bytes if is_unaccented else most + all_languages.n_stop_words, given.n_bytes)
        numbers = np.array([all_languages.numbers[language] for language in languages], np.int32)
        offsets, tokens = np.empty(len(texts) + 1, np.int64), np.empty(most, np.int32)
        places = np.empty((most if with_places else 0, 2), np.int32)

        def tokens_of(piece: str, number: int) -> _PieceTokens:
            language = all_languages.codes[number]
            if not with_places:
                return tokenize(piece, language, most_words), None
            found = token_places(piece, language)
            ends = list(accumulate(map(_n_bytes, piece), initial=0))
            return [token for token, _, _ in found], [(ends[start], ends[end]) for _, start, end in found]

        pieces = _Pieces(tokens_of)
        reader = self._reader(all_languages, native.ReadPiece(pieces.read))
        n_asked = native.read_texts(
            ctypes.byref(reader),
            ctypes.byref(given.struct),
            numbers,
            most_words,
            ctypes.byref(words.struct),
            offsets,
            tokens,
            places if with_places else None,
        )
        pieces.raise_error()
        groups = words.asked(n_asked, all_languages.codes, self._stand_ins)
        return ReadTexts(words.found, offsets, tokens, groups, places, words, given)

    def first_words(self, texts: Sequence[str], most: int) -> FirstWords:
        """The first words (`tokens.letter_tokens`) of each text in all languages of the store.

        Args:
            most: words that are read.
        """
        n_texts, n_languages = len(texts), len(self._vocabulary.languages)
        languages = self._own_languages  # which stay: others may read a text in a language that is new
        n_rules = 1 + max(languages.rules)
        given = native.Texts.of(texts)
        words = _WordBuffers(n_rules * min(given.n_bytes, most * n_texts), n_rules * given.n_bytes)
        terms = np.empty((words.most, n_languages), np.int32)
        tokens, n_tokens = np.empty((n_rules, n_texts, most), np.int32), np.empty((n_rules, n_texts), np.int32)
        n_known = np.zeros((n_texts, n_languages), np.int32)

        def tokens_of(piece: str, number: int) -> _PieceTokens:
            language = _WITH_FLAGS[languages.structs[number].rules]
            return letter_tokens(piece, language, most, with_stop_words=True), None

        pieces = _Pieces(tokens_of)
        reader = self._reader(languages, native.ReadPiece(pieces.read))
        native.find_first_words(
            ctypes.byref(reader),
            ctypes.byref(given.struct),
            most,
            ctypes.byref(words.struct),
            terms,
            tokens,
            n_tokens,
            n_known,
        )
        pieces.raise_error()
        return FirstWords(n_known, languages.rules, terms, tokens, n_tokens, words)

    def _with(self, languages: Sequence[str]) -> _Languages:
        """All languages that were read so far, and these."""
        missing = set(languages) - self._languages.numbers.keys()
        if missing:
            with self._lock:
                codes = dict.fromkeys([*self._languages.codes, *sorted(missing)])
                self._languages = _Languages(self._vocabulary, self._stand_ins, tuple(codes))
        return self._languages

    def _reader(self, languages: _Languages, read_piece: Any) -> native.ReaderStruct:
        spellings, n_places = self._stand_ins.spellings.struct, len(self._vocabulary.languages)
        languages_at = ctypes.addressof(languages.structs)
        return native.ReaderStruct(self._vocabulary.struct, spellings, languages_at, n_places, read_piece)


class _Pieces:
    """Reads pieces of texts for C.

    Args:
        tokens_of: from a piece and the number of its language to its tokens, and to their places in UTF-8 if they are
            asked for.
    """

    def __init__(self, tokens_of: Callable[[str, int], _PieceTokens]) -> None:
        self._tokens_of = tokens_of
        self._errors: list[BaseException] = []
        self._alive: tuple[Any, ...] = ()

    def read(self, start: int, n_bytes: int, number: int, found: Any) -> None:
        """As `native.ReadPiece`."""
        try:
            tokens, places = self._tokens_of(str(ctypes.string_at(start, n_bytes), "utf-8", _SURROGATES), number)
            texts, ends = native.Texts.of(tokens), np.array(places or (), np.int32)
            self._alive = texts, ends
            found[0] = native.PieceStruct(
                len(tokens), texts.struct.bytes, texts.struct.offsets, address(ends) if places else None
            )
        except BaseException as error:  # C cannot pass it on
            self._errors.append(error)

    def raise_error(self) -> None:
        """Raises the first error of reading a piece."""
        if self._errors:
            raise self._errors[0]


class ReadTexts(NamedTuple):
    """The words of texts.

    Attributes:
        words: the distinct ones (`native.WORD`).
        offsets, tokens: the words of text i in reading order are `tokens[offsets[i]:offsets[i + 1]]`.
        groups: what stands for the words that Python was asked for.
        places: (n_tokens, 2) where each token begins and ends in the UTF-8 of its text, if it was asked for.
        buffers: in which the words lie.
        texts: which were read.
    """

    words: NDArray[Any]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int32]
    groups: Sequence[tuple[int, ...]]
    places: NDArray[np.int32]
    buffers: _WordBuffers
    texts: native.Texts

    def text(self, word: int) -> str:
        """A word, normalised."""
        return self.buffers.text(word)

    def terms(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The terms whose embeddings each word takes: those of word i are `term_ids[offsets[i]:offsets[i + 1]]`, one,
        or several of a compound.

        Returns:
            offsets (n_words + 1,), term_ids.
        """
        group_offsets, group = self._group_arrays()
        n_words = len(self.words)
        offsets, term_ids = np.empty(n_words + 1, np.int32), np.empty(n_words + len(group), np.int32)
        n = native.list_terms(self.words, n_words, group_offsets, group, offsets, term_ids)
        return offsets, term_ids[:n]

    def _group_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the terms of each group begin, and where the last one ends; the terms of all."""
        offsets = np.array([*accumulate(map(len, self.groups), initial=0)], np.int64)
        return offsets, np.array([term_id for group in self.groups for term_id in group], np.int32)

    def beginning_as(self, beginnings: Sequence[str], words: NDArray[np.int64]) -> list[int]:
        """Those of some words that begin as one of others, by the first two bytes."""
        pairs = {word.encode("utf-8", _SURROGATES)[:2].ljust(2) for word in beginnings}
        starts, letters = self.words["start"][words], self.buffers.letters
        first = letters[starts].astype(np.uint16) << 8 | letters[starts + 1]
        is_one = np.equal.outer(first, np.array([int.from_bytes(pair, "big") for pair in pairs], np.uint16)).any(axis=1)
        found: list[int] = words[is_one].tolist()
        return found

    def bags(self) -> list[BagOfWords]:
        """The bag of each text (`tokens.tokenize`)."""
        n_texts, n_tokens = len(self.offsets) - 1, int(self.offsets[-1])
        group_offsets, group = self._group_arrays()
        longest = max([1, *map(len, self.groups)])
        most = int(np.diff(self.offsets).max(initial=0))
        term_ids, counts = np.empty((2, n_tokens * longest), np.int32)
        offsets, hash_offsets, n_unknown = np.empty((3, n_texts + 1), np.int64)
        hashes, hash_parts = np.empty((2, n_tokens), np.uint32)
        parts = np.empty(n_tokens * longest, np.uint32)
        seen, seen_in = np.zeros((2, len(self.words)), np.int32)
        numbers = np.empty(most * (1 + 2 * longest) + 1, np.uint64)
        arrays = (offsets, term_ids, counts, n_unknown, hash_offsets, hashes, parts, hash_parts)
        bags = native.BagsStruct(*[address(each) for each in arrays])
        native.count_bags(
            self.words,
            n_texts,
            self.offsets,
            self.tokens,
            group_offsets,
            group,
            MAX_UNKNOWN_HASHES,
            seen,
            seen_in,
            numbers,
            ctypes.byref(bags),
        )
        ends, hash_ends = offsets.tolist(), hash_offsets.tolist()
        # Copied once: what is cached of texts that were read together goes together.
        term_ids, counts, hashes = (
            term_ids[: ends[-1]].copy(),
            counts[: ends[-1]].copy(),
            hashes[: hash_ends[-1]].copy(),
        )
        numbers_of = zip(ends, ends[1:], hash_ends, hash_ends[1:], n_unknown.tolist(), strict=False)
        found = [
            BagOfWords(term_ids[start:end], counts[start:end], n, hashes[first:last])
            for start, end, first, last, n in numbers_of
        ]
        for text in np.flatnonzero(np.diff(self.offsets) > LONG_TEXT).tolist():
            of_terms, of_hashes = parts[ends[text] : ends[text + 1]], hash_parts[hash_ends[text] : hash_ends[text + 1]]
            found[text].parts = np.concatenate([of_terms, of_hashes])
        return found


class FirstWords(NamedTuple):
    """The first words of texts in all languages of a store.

    Attributes:
        n_known: (n_texts, n_languages) int32, how many each language knows, stop words among them.
        rules, terms, tokens, n_tokens, words: as `find_first_words` fills them.
    """

    n_known: NDArray[np.int32]
    rules: Sequence[int]
    terms: NDArray[np.int32]
    tokens: NDArray[np.int32]
    n_tokens: NDArray[np.int32]
    words: _WordBuffers

    def term_ids(self, text: int, language: int) -> NDArray[np.int32]:
        """What each word of a text is in a language, by their numbers: a term, `native.STOP_WORD` or `native.NONE`."""
        found: NDArray[np.int32] = self.terms[self._words_of(text, language), language]
        return found

    def tokens_of(self, text: int, language: int, n: int) -> list[str]:
        """The first words of a text by the rules of a language."""
        return [self.words.text(place) for place in self._words_of(text, language)[:n].tolist()]

    def _words_of(self, text: int, language: int) -> NDArray[np.int32]:
        rules = self.rules[language]
        found: NDArray[np.int32] = self.tokens[rules, text, : self.n_tokens[rules, text]]
        return found


class _WordBuffers:
    """Memory for the distinct words of texts, and these words.

    Args:
        most: words.
        n_bytes: of the texts.
    """

    def __init__(self, most: int, n_bytes: int) -> None:
        self.most = most
        self._words, self._slots = np.empty(most, native.WORD), np.empty(max(8 * most, native.FIRST_SLOTS), np.uint32)
        self.letters = np.empty(4 * n_bytes + 16, np.uint8)
        self.struct = native.WordsStruct(address(self._words), 0, address(self._slots), 0, address(self.letters), 0)

    @property
    def found(self) -> NDArray[Any]:
        return self._words[: self.struct.n_words]

    def text(self, place: int) -> str:
        start, n_bytes, *_ = self._words[place].item()
        return str(self.letters.data[start : start + n_bytes], "utf-8")

    def asked(self, n_asked: int, codes: Sequence[str], stand_ins: StandIns) -> list[tuple[int, ...]]:
        """The terms for each word that Python is asked for."""
        if not n_asked:
            return []
        asked = self.found[self.found["term"] <= native.ASKED]
        letters = self.letters[: self.struct.n_letters].tobytes()
        terms: list[tuple[int, ...]] = [()] * len(asked)
        for number in set(asked["language"].tolist()):
            places = np.flatnonzero(asked["language"] == number)
            spans = zip(asked["start"][places].tolist(), asked["n_bytes"][places].tolist(), strict=True)
            tokens = [letters[start : start + n].decode() for start, n in spans]
            for place, found in zip(places.tolist(), stand_ins.parts(codes[number], tokens), strict=True):
                terms[place] = found
        return terms


class _Languages:
    """The rules of languages, for C. Those of the store come first, in its order.

    Attributes:
        codes: of the languages; `numbers`: the place of each.
        n_stop_words: of all of them.
        rules: of the languages of the store, which kind of flags each has, from 0.
    """

    def __init__(self, vocabulary: Vocabulary, stand_ins: StandIns, codes: Sequence[str]) -> None:
        self.codes = codes
        self.numbers = {code: number for number, code in enumerate(codes)}
        self._alive: list[Any] = []  # to which the structs point
        self.structs = (native.LanguageStruct * len(codes))(
            *(self._structure(code, vocabulary.languages, stand_ins) for code in codes)
        )
        self.n_stop_words = sum(one.stop_words.n_terms for one in self.structs)
        firsts = [one.same_rules for one in self.structs[: len(vocabulary.languages)]]
        self.rules = [sorted(set(firsts)).index(first) for first in firsts]

    def _structure(self, code: str, own: Sequence[str], stand_ins: StandIns) -> native.LanguageStruct:
        replaced, seed, own_stop_words = _replaced(code), language_seed(code), _stop_words(code)
        self._alive.append(own_stop_words)
        changes = [crc32(bytes(n), seed) ^ crc32(bytes(n)) for n in range(native.SHORT + 1)]
        structure = native.LanguageStruct(
            replaced=self._address(replaced),
            n_replaced=len(replaced),
            rules=_flags(code),
            stop_words=own_stop_words.struct,
            has_unaccented_stop_words=code in UNACCENTED_STOP_WORDS,
            place=own.index(code) if code in own else -1,
            same_rules=next(number for number, one in enumerate(self.codes) if _flags(one) == _flags(code)),
            changes=self._address(np.array(changes, np.uint32)),
            seed=seed,
        )
        others = np.array([own.index(other) for other in stand_ins.same_spelling(code)], np.int32)
        structure.others, structure.n_others = self._address(others), len(others)
        if structure.place >= 0:
            structure.spelling_offset = int(stand_ins.spellings.offset(code))
            if code in stand_ins.compounds:
                self._alive.append(stand_ins.compounds[code])
                structure.compounding = self._alive[-1].address
        return structure

    def _address(self, array: NDArray[Any]) -> int:
        self._alive.append(array)
        return address(array)


def _flags(code: str) -> int:
    return _FLAGS.get(code, 0)


@cache
def _stop_words(language: str) -> Vocabulary:
    builder = VocabularyBuilder()
    for word in sorted(filter(None, stop_words(language))):
        builder.add(language, word)
    return Vocabulary([language], *builder.arrays().values())


def _replaced(code: str) -> NDArray[Any]:
    letters = [(ord(letter), *map(ord, f"{found:\0<2}")) for letter, found in REPLACED.get(code, {}).items()]
    return np.array(letters, native.REPLACED)


def _n_bytes(letter: str) -> int:
    return len(letter.encode("utf-8", _SURROGATES))
