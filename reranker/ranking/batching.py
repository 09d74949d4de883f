"""Reads queries and documents for re-rankings of many queries at once, each text once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from reranker.base.errors import BadInput, EmptyQuery, UnknownWords
from reranker.text.bags import BagOfWords

Candidate = tuple[BagOfWords, str]
Languages = Sequence[str] | str | None
Query = TypeVar("Query")


def read_queries(read: Callable[[str], Query], queries: Sequence[str]) -> list[Query]:
    """Each query, read; an error names its place, from 0."""
    return [_read_query(read, place, query) for place, query in enumerate(queries)]


def read_candidates(
    read: Callable[[Sequence[str], Languages], list[Candidate]],
    documents: Sequence[str] | Sequence[Sequence[str]],
    languages: Languages,
    n_queries: int,
) -> list[list[Candidate]]:
    """Each query's candidates.

    Args:
        read: turns texts into candidates.
        documents: texts that all queries share, or one list of texts for each.

    Raises:
        BadInput: neither of these, or one language each for documents that are not shared.
    """
    check_several(documents)
    shared = [text for text in documents if isinstance(text, str)]
    if len(shared) == len(documents):
        return [read(shared, languages)] * n_queries
    if shared or len(documents) != n_queries:
        raise BadInput(
            f"documents holds {len(documents)} entries for {n_queries} queries, {len(shared)} of them texts; give "
            f"texts for all queries to share, or one list of texts for each query"
        )
    if not (languages is None or isinstance(languages, str)):
        raise BadInput(
            "document_languages is a list, but each query has documents of its own; give one language, or none"
        )
    distinct = list(dict.fromkeys(text for texts in documents for text in texts))
    by_text = dict(zip(distinct, read(distinct, languages), strict=True))
    return [[by_text[text] for text in texts] for texts in documents]


def check_several(documents: object) -> None:
    """Raises BadInput for one text in the place of several: its letters would be read as documents."""
    if isinstance(documents, str):
        raise BadInput("documents is a text; give a list of texts")


def _read_query(read: Callable[[str], Query], place: int, text: str) -> Query:
    try:
        return read(text)
    except (EmptyQuery, UnknownWords) as error:
        raise type(error)(f"query {place}: {error}") from error
