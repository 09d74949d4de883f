"""LlamaIndex's node postprocessor: for `node_postprocessors` of a query engine or retriever."""

from __future__ import annotations

from pydantic import ConfigDict

from reranker.adapters.ranking import rank_texts
from reranker.base.errors import BadInput
from reranker.base.extras import extra
from reranker.ranking.reranker import Reranker

with extra("llamaindex", "this adapter"):
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle


class SinkrankPostprocessor(BaseNodePostprocessor):
    """Re-orders nodes and keeps the best `top_n` (all where it is None); scores are ours, nodes are the same objects.

    Attributes:
        language: of the queries; guessed where it is None.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    reranker: Reranker
    top_n: int | None = None
    language: str | None = None
    method: str = "auto"

    @classmethod
    def class_name(cls) -> str:
        return "SinkrankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise BadInput("there is no query to rank by; give query_str or query_bundle")
        # With the metadata that is meant for embeddings, as LlamaIndex's own re-rankers read a node.
        texts = [node.node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]
        ranked = rank_texts(
            self.reranker,
            query_bundle.query_str,
            texts,
            language=self.language,
            method=self.method,
            top_n=self.top_n,
        )
        return [NodeWithScore(node=nodes[place].node, score=score) for place, score in ranked]
