"""A ranker of the library `rerankers`: the same calls as of any other ranker there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from reranker.adapters.ranking import missing, rank_texts
from reranker.ranking.reranker import Reranker

try:
    from rerankers.documents import Document
    from rerankers.models.ranker import BaseRanker
    from rerankers.results import RankedResults, Result
    from rerankers.utils import prep_docs
except ImportError as error:
    missing("rerankers", "rerankers", error)


class SinkrankRanker(BaseRanker):
    """Ranks texts, or `rerankers.Document`s; the results are that library's own: all, or the best `top_n`.

    >>> ranker = SinkrankRanker(reranker)                                            # doctest: +SKIP
    >>> ranker.rank("chat noir", ["a black cat", "a red car"]).top_k(1)              # doctest: +SKIP
    """

    def __init__(
        self,
        reranker: Reranker,
        *,
        language: str | None = None,
        method: str = "auto",
        top_n: int | None = None,
    ) -> None:
        self.reranker = reranker
        self.language = language
        self.method = method
        self.top_n = top_n

    def rank(
        self,
        query: str,
        docs: str | Sequence[str] | Document | Sequence[Document],
        doc_ids: Sequence[str] | Sequence[int] | None = None,
    ) -> RankedResults:
        """The documents, best first, ranks from 1; ids are their places where none are given."""
        documents = prep_docs(docs, doc_ids) if docs else []
        texts = [document.text or "" for document in documents]
        ranked = rank_texts(
            self.reranker,
            query,
            texts,
            language=self.language,
            method=self.method,
            top_n=self.top_n,
        )
        results = [
            Result(document=documents[place], score=score, rank=rank)
            for rank, (place, score) in enumerate(ranked, start=1)
        ]
        return RankedResults(results=results, query=query, has_scores=True)

    async def rank_async(
        self,
        query: str,
        docs: Sequence[str],
        doc_ids: Sequence[str] | str | None = None,
    ) -> RankedResults:
        return await asyncio.to_thread(self.rank, query, docs, doc_ids)

    def score(self, query: str, doc: str) -> float:
        """Of one text, in (0, 1]."""
        return float(self.rank(query, [doc])[0].score)
