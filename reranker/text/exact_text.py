"""Tells whether a short text, such as a title, is a query word for word: case, marks and blanks aside."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import regex

# Longer than any title: what is longer is not looked at.
_MAX_CHARS = 200
_MAX_TEXTS = 20
# Titles come again from search to search; some 2 MB.
_MAX_KEPT = 10_000
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


def exact_key(text: str) -> int | None:
    """The same number for texts of the same words in the same order, within this process; None for a text without a
    word, or of more than 200 characters."""
    return _key(text) if len(text) <= _MAX_CHARS else None


@lru_cache(maxsize=_MAX_KEPT)
def _key(text: str) -> int | None:
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return hash(tuple(words)) if words else None


def exact_keys(texts: Iterable[str]) -> frozenset[int]:
    """Those of the short texts among the first twenty."""
    keys = (exact_key(text) for text, _ in zip(texts, range(_MAX_TEXTS), strict=False))
    return frozenset(key for key in keys if key is not None)
