"""Finds the places of tokens in the original text, before normalisation."""

from __future__ import annotations

from itertools import accumulate

import regex

from reranker.text.normalization import normalize_term
from reranker.text.tokens import found_with_starts, is_stop_word

# What is normalised by itself: a character with its marks and joiners, and a run of Hangul, whose letters compose
# syllables and stay in one token.
_CLUSTER = regex.compile(r"(?s:\p{Hangul}++|.)[\p{M}\u200c\u200d\uff9e\uff9f]*+")
_CATALAN_CLUSTER = regex.compile(rf"(?:[lLｌＬ]·)++[lLｌＬ]\p{{M}}*+|{_CLUSTER.pattern}")


def token_places(text: str, language: str) -> list[tuple[str, int, int]]:
    """The tokens of `reranker.text.tokens.tokenize`, all of them, with their start and end in the original text, in
    characters.

    >>> token_places("The cat, the 2 CATS.", "en")
    [('cat', 4, 7), ('2', 13, 14), ('cats', 15, 19)]
    """
    starts, ends = _origins(text, language)
    return [
        (token, starts[first], ends[first + length - 1])
        for token, first, length in found_with_starts(normalize_term(text, language))
        if not is_stop_word(token, language)
    ]


def _origins(text: str, language: str) -> tuple[list[int] | range, list[int] | range]:
    """The start and end in the original text of each character of the normalised text."""
    if text.isascii():
        return range(len(text)), range(1, len(text) + 1)
    clusters = (_CATALAN_CLUSTER if language == "ca" else _CLUSTER).findall(text)
    lengths: dict[str, int] = {}
    for cluster in clusters:
        if cluster not in lengths:
            lengths[cluster] = len(normalize_term(cluster, language))
    starts: list[int] = []
    ends: list[int] = []
    for cluster, end in zip(clusters, accumulate(map(len, clusters)), strict=True):
        n = lengths[cluster]
        start = end - len(cluster)
        if n == len(cluster):
            starts += range(start, end)
            ends += range(start + 1, end + 1)
        else:
            starts += [start] * n
            ends += [end] * n
    return starts, ends
