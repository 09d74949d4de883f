"""Re-ranks for many queries at once: each text is read once, however many queries ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reranker.bags import BagOfWords
from reranker.errors import BadInput, EmptyQuery, UnknownLanguage, UnknownWords

if TYPE_CHECKING:
    from reranker.reranking import Query, Reranker, Reranking

Candidate = tuple[BagOfWords, str]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """A query's documents: as they are written, and as they are read."""

    texts: Sequence[str]
    bags: Sequence[Candidate]


def rerank_many(
    reranker: Reranker,
    queries: Sequence[str],
    documents: Sequence[str] | Sequence[Sequence[str]],
    *,
    language: str | None = None,
    document_languages: Sequence[str] | str | None = None,
    **options: Any,
) -> list[Reranking]:
    """One re-ranking a query; see `Reranker.rerank_many`."""
    read = [_read_query(reranker, place, query, language) for place, query in enumerate(queries)]
    candidates = _read_documents(reranker, documents, document_languages, len(queries))
    return [
        reranker.rerank_bags(query, of_query.bags, texts=of_query.texts, **options)
        for query, of_query in zip(read, candidates, strict=True)
    ]


def _read_query(reranker: Reranker, place: int, text: str, language: str | None) -> Query:
    try:
        return reranker.query(text, language)
    except UnknownLanguage:
        raise  # the same one for all
    except (EmptyQuery, UnknownWords) as error:
        raise type(error)(f"query {place}: {error}") from error


def _read_documents(
    reranker: Reranker,
    documents: Sequence[str] | Sequence[Sequence[str]],
    languages: Sequence[str] | str | None,
    n_queries: int,
) -> list[_Candidates]:
    """Each query's candidates."""
    shared = [text for text in documents if isinstance(text, str)]
    if len(shared) == len(documents):
        return [_Candidates(shared, reranker.read_documents(shared, languages))] * n_queries
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
    by_text = dict(zip(distinct, reranker.read_documents(distinct, languages), strict=True))
    return [_Candidates(texts, [by_text[text] for text in texts]) for texts in documents]
