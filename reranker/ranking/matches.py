"""Finds where a query's words, and the words nearest to them, stand in texts: what snippets and pages of hits mark."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.answers.matches import Match
from reranker.embeddings import Embeddings
from reranker.embeddings.placed_words import PlacedWords
from reranker.native.library import address
from reranker.native.text import ChoiceStruct, mark_tokens
from reranker.ranking.query import Query
from reranker.text.bags import unknown_hash
from reranker.text.normalization import as_written
from reranker.text.tokens import MAX_TOKENS
from reranker.transport.cost_table import cost_table

# A cosine below this is no match: of the demo's embeddings words without any relation come that near.
_LEAST_LIKENESS = 0.45
# Of the nearest word's likeness: what lies farther off is left out beside it.
_SHARE_OF_NEAREST = 0.85


class Mark(NamedTuple):
    """A word of a text that matches a query word.

    Attributes:
        start, end: in characters of the text.
        word: of the text, normalised.
        query_word: that it is nearest to.
        likeness: cosine of the two; 1 for the same word or stem.
    """

    start: int
    end: int
    word: str
    query_word: str
    likeness: float


class QueryWords:
    """The words of a query and the parts of its compounds, to be found in texts."""

    def __init__(self, query: Query, embeddings: Embeddings) -> None:
        self._language, self._embeddings = query.language, embeddings
        parts = (part for token in query.tokens for part in (token, *embeddings.parts(query.language, token)))
        self._words = list(dict.fromkeys(parts))
        own = [embeddings.stand_ins(query.language, word) for word in self._words]
        # A compound has no embedding here, since its parts are words too.
        self._with_embedding = np.flatnonzero([len(each) == 1 for each in own])
        self._term_ids = np.array([own[place][0] for place in self._with_embedding.tolist()], np.int32)
        self._hashes = np.array([unknown_hash(word) for word in self._words], np.uint32)
        keys = [embeddings.stem_keys.of_word(word, query.language) for word in self._words]
        self._stem_keys = np.array(keys, np.uint64)

    def marks(
        self, documents: Sequence[Sequence[str]], languages: Sequence[str], most_words: int = MAX_TOKENS
    ) -> list[list[list[Mark]]]:
        """The marks of each text of each document, in reading order.

        Each query word takes the same word or stem, and at most three words of the document near to it. A compound of
        the document is as near as the nearest of its parts.

        Args:
            documents: the texts of each.
            languages: of each document.
            most_words: that are read of each text.
        """
        texts = [text for document in documents for text in document]
        of_texts = [language for document, language in zip(documents, languages, strict=True) for _ in document]
        words = PlacedWords(texts, of_texts, most_words, self._embeddings)
        ends = np.cumsum([0, *map(len, documents)])
        is_own = [language == self._language for language in languages]
        tokens, query_words, likenesses = self._marked(words, words.offsets[ends], np.array(is_own, np.uint8))
        firsts = np.searchsorted(tokens, words.offsets).tolist()
        of_words = list(zip(words.tokens[tokens].tolist(), query_words.tolist(), likenesses.tolist(), strict=True))
        written = {word: words.text(word) for word, _, _ in of_words}
        found = iter(
            [
                Mark(start, end, written[word], self._words[query_word], likeness)
                for (start, end), (word, query_word, likeness) in zip(
                    words.places(text, tokens[first:last]), of_words[first:last], strict=True
                )
            ]
            for text, (first, last) in enumerate(pairwise(firsts))
        )
        return [[next(found) for _ in document] for document in documents]

    def _marked(
        self, words: PlacedWords, offsets: NDArray[np.int64], is_own: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """The tokens that get a mark, ascending, the query word of each, and how near it is.

        Args:
            offsets: (n_documents + 1,) where the tokens of each document begin, and where the last one ends.
            is_own: (n_documents,) whether it is in the query's language.
        """
        same = np.full((2, len(words)), -1, np.int32)
        if is_own.any():
            _set_first(same[1], self._stems_of(words), self._stem_keys)
        _set_first(same, words.hashes, self._hashes)
        arrays = (
            self._cosines(words),
            np.full(len(words), -1, np.int32),
            np.zeros(len(words), np.float32),
            np.empty(len(self._words), np.float32),
        )
        cosines, *room = map(address, arrays)
        choice = ChoiceStruct(cosines, len(self._words), _LEAST_LIKENESS, _SHARE_OF_NEAREST, *room)
        tokens = np.empty(len(words.tokens), np.int64)
        query_words, likenesses = np.empty(len(tokens), np.int32), np.empty(len(tokens), np.float32)
        n = mark_tokens(
            ctypes.byref(choice),
            len(is_own),
            address(offsets),
            address(words.tokens),
            address(is_own),
            address(same),
            len(words),
            address(tokens),
            address(query_words),
            address(likenesses),
        )
        return tokens[:n], query_words[:n], likenesses[:n]

    def _cosines(self, words: PlacedWords) -> NDArray[np.float32]:
        """(n_words, n_query_words); 0 where one of the two has no embedding."""
        found = np.zeros((len(words), len(self._words)), np.float32)
        single = np.flatnonzero(words.term_ids >= 0)
        parts = [term_id for group in words.groups.values() for term_id in group]
        if not len(self._with_embedding) or not len(single) + len(parts):
            return found
        term_ids = np.concatenate([words.term_ids[single], np.array(parts, np.int32)])
        vectors, single_precision = self._embeddings.vectors, np.dtype(np.float32)
        costs = cost_table(self._term_ids, term_ids, vectors, single_precision, n_threads=1, ground_cost="cosine")
        cosines = 1.0 - costs[:, : len(self._with_embedding)]
        found[np.ix_(single, self._with_embedding)] = cosines[: len(single)]
        first = len(single)
        for word, group in words.groups.items():
            found[word, self._with_embedding] = cosines[first : first + len(group)].max(axis=0)
            first += len(group)
        return found

    def _stems_of(self, words: PlacedWords) -> NDArray[np.uint64]:
        """(n_words,): the key of each word's stem, if it is of the query's language. 0 for a word without an embedding
        that begins as no query word."""
        of_word, keys = self._embeddings.stem_keys.of_word, np.zeros(len(words), np.uint64)
        single = words.term_ids >= 0
        keys[single] = self._embeddings.stem_keys.of_terms(words.term_ids[single])
        for word in words.beginning_as(self._words):  # words of one stem do
            keys[word] = of_word(words.text(word), self._language)
        return keys


def find_matches(query: Query, text: str, language: str, embeddings: Embeddings) -> list[Match]:
    """The matches in the first 2,000 words of a text, in reading order (`QueryWords.marks`).

    Args:
        language: of the text.
    """
    (marks,) = QueryWords(query, embeddings).marks([[text]], [language])[0]
    return [
        Match(
            mark.start,
            mark.end,
            as_written(mark.query_word, query.language),
            as_written(mark.word, language),
            round(mark.likeness, 4),
        )
        for mark in marks
    ]


def _set_first(
    found: NDArray[np.int32], keys: NDArray[np.unsignedinteger], of_query: NDArray[np.unsignedinteger]
) -> None:
    """Sets the first query word with the key of each word, where there is one.

    Args:
        found: (…, n_words).
        keys: (n_words,).
        of_query: (n_query_words,).
    """
    words, query_words = np.divmod(np.flatnonzero(keys[:, np.newaxis] == of_query), len(of_query))
    found[..., words[::-1]] = query_words[::-1]
