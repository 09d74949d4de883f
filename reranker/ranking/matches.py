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

    Each query word, and each part of a compound, takes the same word or stem, and at most three words near to it. A
    compound of the text is as near as the nearest of its parts.

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
    words = list(
        dict.fromkeys(word for token in query.tokens for word in (token, *embeddings.parts(query.language, token)))
    )
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
    """(len(words), len(others)); 0 where one of the two has no embedding. A compound among the words has none, for its
    parts are words too; of one among the others the nearest part counts."""
    if not words or not others:
        return np.zeros((len(words), len(others)), dtype=np.float32)
    own = [embeddings.stand_ins(language, word) for word in words]
    theirs = [embeddings.stand_ins(other_language, other) for other in others]
    table = _vectors([each if len(each) == 1 else () for each in own], embeddings) @ _vectors(theirs, embeddings).T
    starts = np.cumsum([0, *(max(1, len(each)) for each in theirs[:-1])])
    found: np.ndarray[tuple[int, int], np.dtype[np.float32]] = np.maximum.reduceat(table, starts, axis=1)
    return found


def _vectors(
    term_ids: list[tuple[int, ...]], embeddings: Embeddings
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The embeddings of the terms of each token, one after the other; a row of zeros for a token without terms."""
    flat = [term_id for each in term_ids for term_id in each or (None,)]
    found = np.zeros((len(flat), embeddings.dim), dtype=np.float32)
    for row, term_id in enumerate(flat):
        if term_id is not None:
            found[row] = embeddings.vectors[term_id]
    return found
