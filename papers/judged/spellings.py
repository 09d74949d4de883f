"""Removes words from queries that documents in another language spell alike: names, loan words, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import regex

from reranker.text.documents import Document
from reranker.text.normalization import normalize_term
from reranker.text.tokens import is_stop_word
from sinkrank.evaluation.judgments import JudgedQuery

# A token of letters, as transport uses it, or a number, which BM25 finds.
_TOKEN = regex.compile(r"\p{L}[\p{L}\p{M}]*|\p{N}+")


@dataclass(frozen=True)
class Stripped:
    """Queries without the tokens that the documents spell alike.

    Attributes:
        queries: all queries, in order. A query without any token left has an empty text.
        n_tokens, n_removed: number of tokens of all queries, without stop words, and number of removed tokens.
    """

    queries: tuple[JudgedQuery, ...]
    n_tokens: int
    n_removed: int

    @property
    def n_empty(self) -> int:
        return sum(not query.text for query in self.queries)


def without_identical_spellings(
    queries: Sequence[JudgedQuery], language: str, documents: Iterable[Document]
) -> Stripped:
    """Removes each token from the queries that a document spells alike.

    A token is a run of letters that is no stop word of its language, or a number. Spellings are compared in lower case
    (`normalize_term`).

    Args:
        language: of queries without one.
    """
    sought = {spelling for query in queries for _, spelling in _tokens(query.text, query.language or language)}
    shared: set[str] = set()
    for document in documents:
        if len(shared) == len(sought):
            break
        shared.update(spelling for _, spelling in _tokens(document.full_text, document.language) if spelling in sought)
    stripped, n_tokens, n_removed = [], 0, 0
    for query in queries:
        tokens = _tokens(query.text, query.language or language)
        removed = [span for span, spelling in tokens if spelling in shared]
        n_tokens += len(tokens)
        n_removed += len(removed)
        text = _without(query.text, removed) if len(removed) < len(tokens) else ""
        stripped.append(replace(query, text=text))
    return Stripped(tuple(stripped), n_tokens, n_removed)


def _tokens(text: str, language: str) -> list[tuple[tuple[int, int], str]]:
    """Yields the position (start, end) and the normalised spelling of each token."""
    found = [(match.span(), normalize_term(match.group())) for match in _TOKEN.finditer(text)]
    return [(span, spelling) for span, spelling in found if not is_stop_word(spelling, language)]


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, end = [], 0
    for start, stop in spans:
        parts.append(text[end:start])
        end = stop
    return "".join([*parts, text[end:]]).strip()
