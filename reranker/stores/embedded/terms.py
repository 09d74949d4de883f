"""Turns a text into the terms of the embedded store's BM25: tokens, stemmed by the rules of their language."""

from __future__ import annotations

from functools import lru_cache

import regex

from reranker.text.segmentation import UNSPACED_SCRIPTS
from reranker.text.stems import stem
from reranker.text.tokens import LONGEST_CACHED_TOKEN, has_digit, is_stop_word, tokenize

# Within longer words too, and other numerals (½): a query may contain only a part, such as the start of a version.
_NUMBER = regex.compile(r"\p{N}+")
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")

_UNSPACED = regex.compile(f"[{UNSPACED_SCRIPTS}]")

# Words recur, and the stemmers are slow: they are written in Python.
_MAX_CACHED_TOKENS = 500_000


def bm25_terms(text: str, language: str, max_terms: int | None = None) -> list[str]:
    """Returns the terms of a text.

    They are the stems of words; pairs of characters in scripts without spaces, so that parts of long words match too;
    tokens of digits and other characters, whole and by their words; and at the end all runs of digits.

    >>> bm25_terms("Runs in 2019 by h264", "en")
    ['run', 'h264', 'h', '2019', '264']
    """
    terms: list[str] = []
    for token in tokenize(text, language, max_terms):
        terms.extend(
            _cached_terms_of(token, language) if len(token) <= LONGEST_CACHED_TOKEN else _terms_of(token, language)
        )
    terms.extend(_NUMBER.findall(text))
    return terms if max_terms is None else terms[:max_terms]


def _terms_of(token: str, language: str) -> tuple[str, ...]:
    if has_digit(token):
        if token.isdecimal():
            return ()
        words = (word for word in _WORD.findall(token) if not is_stop_word(word, language))
        return (token, *(term for word in words for term in _terms_of(word, language)))
    if _UNSPACED.search(token):
        return tuple(token[start : start + 2] for start in range(max(1, len(token) - 1)))
    return (stem(token, language),)


_cached_terms_of = lru_cache(maxsize=_MAX_CACHED_TOKENS)(_terms_of)
