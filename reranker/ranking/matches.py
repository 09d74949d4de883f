"""Finds where a query's words, and the words nearest to them, stand in texts: what snippets and pages of hits mark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.answers import Match
from reranker.embeddings import Embeddings
from reranker.embeddings.placed_words import PlacedWords
from reranker.ranking.query import Query
from reranker.text.bags import WeightedBag, unknown_hash
from reranker.text.normalization import as_written
from reranker.text.tokens import MAX_TOKENS
from reranker.transport.cost_table import cost_table

# A cosine below this is no match: of the demo's embeddings words without any relation come that near.
_LEAST_LIKENESS = 0.45
# Of the nearest word's likeness: what lies farther off is left out beside it.
_SHARE_OF_NEAREST = 0.85
_WORDS_A_QUERY_WORD = 3


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
        term_ids = np.array([own[place][0] for place in self._with_embedding.tolist()], np.int32)
        self._bag = WeightedBag(term_ids, np.ones(len(term_ids)))
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
        cosines, is_same, has_same_stem = self._cosines(words), self._same_words(words), self._same_stems(words)
        is_near = cosines >= _LEAST_LIKENESS
        is_candidate: NDArray[np.bool_] = np.any(is_near | is_same | has_same_stem, axis=1)
        near, same, same_stem = _by_word(is_near, cosines), _by_word(is_same), _by_word(has_same_stem)
        places = iter(words.places(is_candidate))
        found = []
        for document, language in zip(documents, languages, strict=True):
            of_document = [next(places) for _ in document]
            distinct = dict.fromkeys(word for own in of_document for word, _, _ in own)
            of_same = (same, same_stem) if language == self._language else (same,)
            chosen = _chosen(distinct, near, of_same)
            found.append([self._marked(own, chosen, words) for own in of_document])
        return found

    def _marked(
        self, places: Sequence[tuple[int, int, int]], chosen: Mapping[int, tuple[int, float]], words: PlacedWords
    ) -> list[Mark]:
        known = {word: (words.text(word), self._words[place], likeness) for word, (place, likeness) in chosen.items()}
        return [Mark(start, end, *known[word]) for word, start, end in places if word in known]

    def _cosines(self, words: PlacedWords) -> NDArray[np.float32]:
        """(n_words, n_query_words); 0 where one of the two has no embedding."""
        found = np.zeros((len(words), len(self._words)), np.float32)
        single = np.flatnonzero(words.term_ids >= 0)
        parts = [term_id for group in words.groups.values() for term_id in group]
        if not len(self._with_embedding) or not len(single) + len(parts):
            return found
        term_ids = np.concatenate([words.term_ids[single], np.array(parts, np.int32)])
        vectors, single_precision = self._embeddings.vectors, np.dtype(np.float32)
        costs = cost_table(self._bag, term_ids, vectors, single_precision, n_threads=1, ground_cost="cosine")
        cosines = 1.0 - costs[:, : len(self._with_embedding)]
        found[np.ix_(single, self._with_embedding)] = cosines[: len(single)]
        first = len(single)
        for word, group in words.groups.items():
            found[word, self._with_embedding] = cosines[first : first + len(group)].max(axis=0)
            first += len(group)
        return found

    def _same_words(self, words: PlacedWords) -> NDArray[np.bool_]:
        """(n_words, n_query_words): which are spelled alike, in whatever language."""
        found: NDArray[np.bool_] = words.hashes[:, np.newaxis] == self._hashes
        return found

    def _same_stems(self, words: PlacedWords) -> NDArray[np.bool_]:
        """(n_words, n_query_words): which have the same stem, if they are of the query's language."""
        of_word, keys = self._embeddings.stem_keys.of_word, np.zeros(len(words), np.uint64)
        single = words.term_ids >= 0
        keys[single] = self._embeddings.stem_keys.of_terms(words.term_ids[single])
        for word in words.beginning_as(self._words):  # words of one stem do
            keys[word] = of_word(words.text(word), self._language)
        found: NDArray[np.bool_] = keys[:, np.newaxis] == self._stem_keys
        return found


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


_Likenesses = Mapping[int, Sequence[tuple[int, float]]]
"""By word, the query words that it is like, and how much."""


def _by_word(is_like: NDArray[np.bool_], cosines: NDArray[np.float32] | None = None) -> _Likenesses:
    """Args: is_like, cosines: (n_words, n_query_words); without cosines words that are alike are the same."""
    rows, columns = np.nonzero(is_like)
    values = np.ones(len(rows)) if cosines is None else np.minimum(cosines[rows, columns], 1.0)
    found: dict[int, list[tuple[int, float]]] = {}
    for word, query_word, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        found.setdefault(word, []).append((query_word, value))
    return found


def _chosen(words: Iterable[int], near: _Likenesses, same: Iterable[_Likenesses]) -> dict[int, tuple[int, float]]:
    """By matching word of a document: the query word that it is nearest to, and how near.

    Args:
        words: of the document, in reading order.
    """
    found: dict[int, tuple[int, float]] = {}
    by_query_word: dict[int, list[tuple[float, int]]] = {}
    for word in words:
        for query_word, value in near.get(word, ()):
            by_query_word.setdefault(query_word, []).append((value, word))
        for likenesses in same:
            for query_word, value in likenesses.get(word, ()):
                _note(found, word, query_word, value)
    for query_word, nearest in by_query_word.items():
        nearest.sort(key=itemgetter(0), reverse=True)
        for value, word in nearest[:_WORDS_A_QUERY_WORD]:
            if value >= _SHARE_OF_NEAREST * nearest[0][0]:
                _note(found, word, query_word, value)
    return found


def _note(found: dict[int, tuple[int, float]], word: int, query_word: int, likeness: float) -> None:
    if likeness > found.get(word, (0, 0.0))[1]:
        found[word] = query_word, likeness
