"""Reads the words of texts with their places: in C, and in Python where C does not cover a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.store import Embeddings
from reranker.native.text import ASKED, NONE
from reranker.text.bags import unknown_hash
from reranker.text.token_places import token_places

WordPlace = tuple[int, int, int]
"""The number of a word, and its start and end in the text, in characters."""

_SURROGATES = "surrogatepass"  # half a pair comes in from JSON


class PlacedWords:
    """The distinct words of texts, and where they stand.

    Args:
        languages: of each text.
        most_words: that are read of each text, and as many numbers.

    Attributes:
        term_ids: (n_words,) int32, the term whose embedding each word takes; -1 where there is none, or several.
        groups: by word, the terms of those that take several, such as compounds.
        hashes: (n_words,) uint32, `unknown_hash` of each.
    """

    def __init__(self, texts: Sequence[str], languages: Sequence[str], most_words: int, embeddings: Embeddings) -> None:
        self._texts = texts
        self._read = read = embeddings.reader.read(texts, languages, embeddings.asked, most_words, with_places=True)
        self._offsets = read.offsets.tolist()
        self._others: list[str] = []  # of the texts that Python reads; they come behind the words of the others
        self._of_others: dict[int, list[WordPlace]] = {}
        terms = read.words["term"]
        own = dict(zip(np.flatnonzero(terms <= ASKED).tolist(), map(int, terms[terms <= ASKED]), strict=True))
        groups = {word: read.groups[ASKED - term] for word, term in own.items()}
        self.term_ids: NDArray[np.int32] = np.maximum(terms, NONE)
        self.hashes: NDArray[np.uint32] = read.words["hash"]
        if not all(read.is_covered):
            groups |= self._read_others(languages, most_words, embeddings)
        for word, group in groups.items():
            self.term_ids[word] = group[0] if len(group) == 1 else NONE
        self.groups = {word: group for word, group in groups.items() if len(group) > 1}

    def _read_others(
        self, languages: Sequence[str], most_words: int, embeddings: Embeddings
    ) -> dict[int, tuple[int, ...]]:
        """Reads the texts that C does not cover. Returns the terms of their words."""
        first = len(self.term_ids)
        numbers: dict[tuple[str, str], int] = {}
        for place, (text, language) in enumerate(zip(self._texts, languages, strict=True)):
            if not self._read.is_covered[place]:
                found = token_places(text, language, most_words)
                self._of_others[place] = [
                    (numbers.setdefault((language, token), first + len(numbers)), start, end)
                    for token, start, end in found
                ]
        self._others = [token for _, token in numbers]
        self.term_ids = np.concatenate([self.term_ids, np.full(len(numbers), NONE, np.int32)])
        hashes = np.fromiter(map(unknown_hash, self._others), np.uint32, len(numbers))
        self.hashes = np.concatenate([self.hashes, hashes])
        return {word: embeddings.stand_ins(*key) for key, word in numbers.items()}

    def __len__(self) -> int:
        return len(self.term_ids)

    def text(self, word: int) -> str:
        """A word, normalised."""
        n_read = len(self._read.words)
        if word >= n_read:
            return self._others[word - n_read]
        start, n_bytes = self._read.words["start"].item(word), self._read.words["n_bytes"].item(word)
        return str(self._read.letters.data[start : start + n_bytes], "utf-8")

    def beginning_as(self, words: Sequence[str]) -> list[int]:
        """Those without an embedding of their own that begin as one of some words, by the first two bytes."""
        beginnings = {word.encode("utf-8", _SURROGATES)[:2].ljust(2) for word in words}
        lacking = np.flatnonzero(self.term_ids < 0)
        read = lacking[: np.searchsorted(lacking, len(self._read.words))]
        starts, letters = self._read.words["start"][read], self._read.letters
        first = letters[starts].astype(np.uint16) << 8 | letters[starts + 1]
        found = read[np.isin(first, [int.from_bytes(each, "big") for each in beginnings])]
        return [*found.tolist(), *lacking[len(read) :].tolist()]

    def places(self, is_wanted: NDArray[np.bool_]) -> list[list[WordPlace]]:
        """The places of some words in each text, in reading order.

        Args:
            is_wanted: (n_words,) which words.
        """
        tokens = self._read.tokens[: self._offsets[-1]]
        wanted = np.flatnonzero(is_wanted[tokens])
        found = list(zip(tokens[wanted].tolist(), *self._read.places[wanted].T.tolist(), strict=True))
        ends = np.searchsorted(wanted, self._read.offsets).tolist()
        return [
            [place for place in self._of_others[number] if is_wanted[place[0]]]
            if number in self._of_others
            else _in_characters(text, found[ends[number] : ends[number + 1]])
            for number, text in enumerate(self._texts)
        ]


def _in_characters(text: str, places: list[WordPlace]) -> list[WordPlace]:
    """Places that were counted in bytes of UTF-8."""
    if text.isascii() or not places:
        return places
    encoded = text.encode("utf-8", _SURROGATES)
    found: list[WordPlace] = []
    n_bytes = n_characters = 0
    for word, start, end in places:
        first = n_characters + len(encoded[n_bytes:start].decode("utf-8", _SURROGATES))
        n_bytes, n_characters = end, first + len(encoded[start:end].decode("utf-8", _SURROGATES))
        found.append((word, first, n_characters))
    return found
