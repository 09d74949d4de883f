"""Finds short texts, such as titles, that equal a query word for word; case, punctuation and spaces are ignored."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import regex

# Longer than any title; longer texts are ignored.
_MAX_CHARS = 200
_MAX_TEXTS = 20
# The same titles come in many searches; some 2 MB.
_MAX_CACHED = 10_000
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


def exact_key(text: str) -> int | None:
    """64 bits that are equal for texts with the same words in the same order. Indices hold them: the same in every
    process and version. None for a text without words or longer than 200 characters.

    >>> exact_key("A cat!") == exact_key("a  cat")
    True
    """
    return _key(text) if len(text) <= _MAX_CHARS else None


@lru_cache(maxsize=_MAX_CACHED)
def _key(text: str) -> int | None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    # The language is not known. In capitals, ı and i are one letter (I), except in Turkish and Azeri, where i is İ.
    words = _WORD.findall(folded.replace("i\u0307", "i").replace("ı", "i"))
    if not words:
        return None
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "big", signed=True)


def exact_keys(texts: Sequence[str]) -> frozenset[int]:
    """The keys of the first twenty texts, where they have one."""
    return _keys(tuple([text for text in texts[:_MAX_TEXTS] if len(text) <= _MAX_CHARS]))


@lru_cache(maxsize=_MAX_CACHED)
def _keys(texts: tuple[str, ...]) -> frozenset[int]:
    return frozenset(key for text in texts if (key := _key(text)) is not None)
