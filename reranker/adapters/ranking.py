"""What the adapters share: the order of texts for a query, which no search of a framework is to fail for."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.base.errors import EmptyQuery, UnknownWords
from reranker.ranking.reranker import Reranker
from reranker.ranking.scores import LOWEST_SCORE


def rank_texts(
    reranker: Reranker,
    query: str,
    texts: Sequence[str],
    *,
    language: str | None,
    method: str,
    top_n: int | None = None,
) -> list[tuple[int, float]]:
    """The places of the texts, best first, each with its score in (0, 1]; `top_n` as of `Reranker.rerank`.

    A query without a known word leaves the texts as they are, all with the lowest score: a chain of components had
    better go on with the retriever's order than stop.

    Raises:
        BadInput: the language, the method or `top_n` cannot be.
    """
    try:
        ranking = reranker.rerank(query, texts, language=language, method=method, top_n=top_n)
    except (EmptyQuery, UnknownWords):
        return [(place, LOWEST_SCORE) for place in range(len(texts))][:top_n]
    return [(document.index, document.score) for document in ranking.documents]
