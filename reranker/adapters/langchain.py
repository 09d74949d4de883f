"""LangChain's document compressor: for `ContextualCompressionRetriever`, after any retriever."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ConfigDict

from reranker.adapters.ranking import rank_texts
from reranker.base.extras import extra
from reranker.ranking.reranker import Reranker

with extra("langchain", "this adapter"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document


class SinkrankCompressor(BaseDocumentCompressor):
    """Re-orders documents and keeps the best `top_n` (all where it is None).

    Documents are copied; `metadata["relevance_score"]` of a copy is its score, as LangChain's own re-rankers have it.

    Attributes:
        language: of the queries; guessed where it is None.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    reranker: Reranker
    top_n: int | None = None
    language: str | None = None
    method: str = "auto"

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        texts = [document.page_content for document in documents]
        ranked = rank_texts(
            self.reranker,
            query,
            texts,
            language=self.language,
            method=self.method,
            top_n=self.top_n,
        )
        return [_scored(documents[place], score) for place, score in ranked]


def _scored(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
