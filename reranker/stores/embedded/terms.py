"""Turns a text into the terms of the embedded store's BM25: tokens, stemmed by the rules of their language."""

from __future__ import annotations

import regex

from reranker.text.segmentation import UNSPACED_LETTERS
from reranker.text.stems import stem
from reranker.text.tokens import has_digit, is_stop_word, tokenize, with_ascii_digits

# Within longer words too, and other numerals (½): a query may contain only a part, such as the start of a version.
_NUMBER = regex.compile(r"\p{N}+")
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")

_UNSPACED = regex.compile(f"(?V1){UNSPACED_LETTERS}")


def bm25_terms(text: str, language: str, max_terms: int | None = None) -> list[str]:
    """Returns the terms of a text.

    They are the stems of words; pairs of characters in scripts without spaces, so that parts of long words match too;
    tokens of digits and other characters, whole and by their words; and at the end all runs of digits.

    >>> bm25_terms("Runs in 2019 by h264", "en")
    ['run', 'h264', 'h', '2019', '264']
    """
    tokens = tokenize(text, language, max_terms)
    terms_of = {token: _terms_of(token, language) for token in dict.fromkeys(tokens)}
    terms = [term for token in tokens for term in terms_of[token]]
    terms += map(with_ascii_digits, _NUMBER.findall(text))
    return terms if max_terms is None else terms[:max_terms]


def _terms_of(token: str, language: str) -> tuple[str, ...]:
    if has_digit(token):
        if token.isdecimal():
            return ()
        words = (word for word in _WORD.findall(token) if not is_stop_word(word, language))
        return (token, *(term for word in words for term in _terms_of(word, language)))
    if not token.isascii() and _UNSPACED.search(token):
        return tuple(token[start : start + 2] for start in range(max(1, len(token) - 1)))
    return (stem(token, language),)
