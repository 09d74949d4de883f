"""Finds where a query's words, and the words nearest to them, stand in a text: what a page marks in a snippet."""

from __future__ import annotations

import numpy as np

from reranker.answers import Match
from reranker.embeddings import Embeddings
from reranker.ranking.query import Query
from reranker.text.normalization import as_written
from reranker.text.stems import stem
from reranker.text.token_places import token_places

# A cosine below this is no match: of the demo's embeddings words without any relation come that near.
_LEAST_LIKENESS = 0.45
# Of the nearest word's likeness: what lies farther off is left out beside it.
_SHARE_OF_NEAREST = 0.85
_WORDS_A_QUERY_WORD = 3


def find_matches(query: Query, text: str, language: str, embeddings: Embeddings) -> list[Match]:
    """The matches in the first 500 words of a text, in reading order.

    Each query word takes the same word or stem, and at most three words near to it.

    Args:
        language: of the text.
    """
    places = token_places(text, language)
    tokens = list(dict.fromkeys(token for token, _, _ in places))
    likeness = _likeness(query, tokens, language, embeddings)
    found = []
    for token, start, end in places:
        if token in likeness:
            query_word, value = likeness[token]
            word = as_written(token, language)
            found.append(Match(start, end, as_written(query_word, query.language), word, round(value, 4)))
    return found


def _likeness(query: Query, tokens: list[str], language: str, embeddings: Embeddings) -> dict[str, tuple[str, float]]:
    """By matching token of the text: the query's token that it is nearest to, and how near."""
    words = list(dict.fromkeys(query.tokens))
    table = _cosines(words, query.language, tokens, language, embeddings)
    stems = [stem(token, language) for token in tokens]
    found: dict[str, tuple[str, float]] = {}
    for row, word in zip(table, words, strict=True):
        same = {word, stem(word, query.language)} if query.language == language else {word}
        near = set(np.argsort(-row, kind="stable")[:_WORDS_A_QUERY_WORD].tolist())
        least = max(_LEAST_LIKENESS, _SHARE_OF_NEAREST * float(row.max(initial=0.0)))
        for place, token in enumerate(tokens):
            is_same = token == word or (query.language == language and stems[place] in same)
            value = 1.0 if is_same else float(min(row[place], 1.0))
            if (is_same or (place in near and value >= least)) and value > found.get(token, ("", 0.0))[1]:
                found[token] = (word, value)
    return found


def _cosines(
    words: list[str], language: str, others: list[str], other_language: str, embeddings: Embeddings
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """(len(words), len(others)); 0 where one of the two has no embedding."""
    return _vectors(words, language, embeddings) @ _vectors(others, other_language, embeddings).T


def _vectors(
    tokens: list[str], language: str, embeddings: Embeddings
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    found = np.zeros((len(tokens), embeddings.dim), dtype=np.float32)
    for row, token in enumerate(tokens):
        term_id = embeddings.stand_in(language, token)
        if term_id is not None:
            found[row] = embeddings.vectors[term_id]
    return found
