"""Reads the words of texts with their places."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.store import Embeddings
from reranker.native.text import ASKED, NONE

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
        tokens: (n_tokens,) int32, the words of all texts in reading order.
        offsets: (n_texts + 1,) int64, where the tokens of each text begin, and where the last one ends.
    """

    def __init__(self, texts: Sequence[str], languages: Sequence[str], most_words: int, embeddings: Embeddings) -> None:
        self._texts = texts
        read = embeddings.reader.read(texts, languages, most_words, with_places=True)
        terms = read.words["term"]
        own = dict(zip(np.flatnonzero(terms <= ASKED).tolist(), map(int, terms[terms <= ASKED]), strict=True))
        groups = {word: read.groups[ASKED - term] for word, term in own.items()}
        self.term_ids: NDArray[np.int32] = np.maximum(terms, NONE)
        self.hashes: NDArray[np.uint32] = read.words["hash"]
        self.offsets: NDArray[np.int64] = read.offsets
        self.tokens: NDArray[np.int32] = read.tokens[: self.offsets[-1]]
        self._places = read.places
        self._starts, self._n_bytes, self._letters = read.words["start"], read.words["n_bytes"], read.letters
        for word, group in groups.items():
            self.term_ids[word] = group[0] if len(group) == 1 else NONE
        self.groups = {word: group for word, group in groups.items() if len(group) > 1}

    def __len__(self) -> int:
        return len(self.term_ids)

    def terms(self, word: int) -> Collection[int]:
        """The distinct terms whose embeddings a word takes."""
        term = int(self.term_ids[word])
        return (term,) if term >= 0 else dict.fromkeys(self.groups.get(word, ()))

    def text(self, word: int) -> str:
        """A word, normalised."""
        start = self._starts.item(word)
        return str(self._letters.data[start : start + self._n_bytes.item(word)], "utf-8")

    def beginning_as(self, words: Sequence[str]) -> list[int]:
        """Those without an embedding of their own that begin as one of some words, by the first two bytes."""
        beginnings = {word.encode("utf-8", _SURROGATES)[:2].ljust(2) for word in words}
        lacking = np.flatnonzero(self.term_ids < 0)
        starts = self._starts[lacking]
        first = self._letters[starts].astype(np.uint16) << 8 | self._letters[starts + 1]
        found: list[int] = lacking[np.isin(first, [int.from_bytes(each, "big") for each in beginnings])].tolist()
        return found

    def places(self, text: int, tokens: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Start and end of some tokens of a text, in characters.

        Args:
            tokens: their places in `tokens`, ascending.
        """
        places: list[tuple[int, int]] = [(start, end) for start, end in self._places[tokens].tolist()]
        return _in_characters(self._texts[text], places)


def _in_characters(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places that were counted in bytes of UTF-8."""
    if text.isascii() or not places:
        return places
    encoded = text.encode("utf-8", _SURROGATES)
    found: list[tuple[int, int]] = []
    n_bytes = n_characters = 0
    for start, end in places:
        first = n_characters + len(encoded[n_bytes:start].decode("utf-8", _SURROGATES))
        n_bytes, n_characters = end, first + len(encoded[start:end].decode("utf-8", _SURROGATES))
        found.append((first, n_characters))
    return found
