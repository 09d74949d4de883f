"""Finds where a query's words, and the words nearest to them, stand in texts: what snippets and pages of hits mark."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.answers.matches import Match
from reranker.embeddings import Embeddings
from reranker.embeddings.text_reader import ReadTexts
from reranker.native import text as native
from reranker.native.library import address
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


def find_marks(
    query: Query,
    embeddings: Embeddings,
    documents: Sequence[Sequence[str]],
    languages: Sequence[str],
    most_words: int = MAX_TOKENS,
) -> list[list[list[Mark]]]:
    """The marks of each text of each document, in reading order.

    Each query word, and each part of its compounds, takes the same word or stem, and at most three words of the
    document near to it. A compound of the document is as near as the nearest of its parts.

    Args:
        documents: the texts of each.
        languages: of each document.
        most_words: that are read of each text.
    """
    parts = (part for token in query.tokens for part in (token, *embeddings.parts(query.language, token)))
    query_words = list(dict.fromkeys(parts))
    texts = [text for document in documents for text in document]
    of_texts = [language for document, language in zip(documents, languages, strict=True) for _ in document]
    is_own = [language == query.language for language in languages]
    read = embeddings.reader.read(texts, of_texts, most_words, with_places=True)
    offsets, term_ids = read.terms()
    own = [embeddings.stand_ins(query.language, word) for word in query_words]
    # A compound has no embedding here, since its parts are words too.
    query_terms = np.array([each[0] for each in own if len(each) == 1], np.int32)
    compared, single = term_ids if len(query_terms) else term_ids[:0], np.dtype(np.float32)
    costs = cost_table(query_terms, compared, embeddings.vectors, single, n_threads=1, ground_cost="cosine")
    query_stems, stem_keys = [0] * len(query_words), np.zeros(len(read.words), np.uint64)
    if any(is_own):
        query_stems = [embeddings.stem_keys.of_word(word, query.language) for word in query_words]
        is_single = np.diff(offsets) == 1
        stem_keys[is_single] = embeddings.stem_keys.of_terms(term_ids[offsets[:-1][is_single]])
        for word in read.beginning_as(query_words, np.flatnonzero(~is_single)):  # words of one stem do
            stem_keys[word] = embeddings.stem_keys.of_word(read.text(word), query.language)
    columns = iter(range(len(query_terms)))
    asked = [
        (unknown_hash(word), next(columns) if len(each) == 1 else native.NONE, stem)
        for word, each, stem in zip(query_words, own, query_stems, strict=True)
    ]
    found: list[list[Mark]] = [[] for _ in texts]
    marks = _marked(read, offsets, costs, stem_keys, asked, list(map(len, documents)), is_own)
    rows = marks.tolist()
    words = {word: read.text(word) for word in {row[3] for row in rows}}
    for text, start, end, word, query_word, likeness in rows:
        found[text].append(Mark(start, end, words[word], query_words[query_word], likeness))
    left = iter(found)
    return [[next(left) for _ in document] for document in documents]


def _marked(
    read: ReadTexts,
    rows: NDArray[np.int32],
    costs: NDArray[np.floating],
    stem_keys: NDArray[np.uint64],
    asked: Sequence[tuple[int, int, int]],
    n_texts: Sequence[int],
    is_own: Sequence[bool],
) -> NDArray[Any]:
    """The marks (n, `native.MARK`), in reading order (`mark_tokens` of `marks.c`).

    Args:
        rows: (n_words + 1,) where the rows of each word begin in the costs.
        stem_keys: (n_words,) for documents in the query's language.
        asked: of each query word the hash, the column in the costs or `native.NONE`, and the key of the stem.
        n_texts: of each document; `is_own`: whether it is in the query's language.
    """
    words, n_words = np.array(asked, native.QUERY_WORD), len(read.words)
    cosines = np.empty((n_words, len(asked)), np.float32)
    choices, near = np.zeros(n_words, native.CHOICE), np.empty(n_words, np.int32)
    text_offsets = np.array([*accumulate(n_texts, initial=0)], np.int64)
    marks = np.empty(read.offsets[-1], native.MARK)
    of_words = address(rows), address(costs), costs.shape[1], address(stem_keys)
    room = address(cosines), address(choices), address(near)
    n = native.mark_tokens(
        ctypes.byref(native.QueryStruct(address(words), len(words), _LEAST_LIKENESS, _SHARE_OF_NEAREST)),
        ctypes.byref(native.ReadWordsStruct(address(read.words), n_words, *of_words, *room)),
        ctypes.byref(read.texts.struct),
        len(n_texts),
        text_offsets,
        bytes(is_own),
        read.offsets,
        read.tokens,
        read.places,
        marks,
    )
    return marks[:n]


def find_matches(query: Query, text: str, language: str, embeddings: Embeddings) -> list[Match]:
    """The matches in the first 2,000 words of a text, in reading order (`find_marks`).

    Args:
        language: of the text.
    """
    ((marks,),) = find_marks(query, embeddings, [[text]], [language])
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
