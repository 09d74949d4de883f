"""LlamaIndex's OpensearchVectorStore through the proxy; run by `tests/clients/test_frameworks.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

pytest.importorskip("llama_index.vector_stores.opensearch", reason="run by tests/clients/test_frameworks.py")
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore

from tests.clients.conftest import Proxying
from tests.clients.frameworks.placed import BY_VECTORS, BY_WORDS, QUERY, TEXTS, vector
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]

INDEX = "clients-llamaindex"

Indices = tuple[VectorStoreIndex, VectorStoreIndex]


class PlacedTexts(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)


def store_at(url: str) -> OpensearchVectorStore:
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    return OpensearchVectorStore(OpensearchVectorClient(url, INDEX, dim=2, method=method))


@pytest.fixture(scope="module")
def indices(engine: Engine, proxying: Proxying) -> Iterator[Indices]:
    """One at the engine and one at the proxy, which wrote the nodes."""
    with urllib3.PoolManager(retries=False) as http, proxying(engine.url) as url:
        http.request("DELETE", f"{engine.url}/{INDEX}")
        nodes = [TextNode(text=text, id_=str(n)) for n, text in enumerate(TEXTS)]
        context = StorageContext.from_defaults(vector_store=store_at(url))
        proxied = VectorStoreIndex(nodes, storage_context=context, embed_model=PlacedTexts())
        direct = VectorStoreIndex.from_vector_store(store_at(engine.url), embed_model=PlacedTexts())
        yield direct, proxied
        http.request("DELETE", f"{engine.url}/{INDEX}")


def found(index: VectorStoreIndex, mode: str, k: int = 5) -> list[tuple[str, float]]:
    """The texts with their scores."""
    retriever = index.as_retriever(vector_store_query_mode=mode, similarity_top_k=k)
    return [(one.node.get_content(), one.score) for one in retriever.retrieve(QUERY)]


def texts(hits: list[tuple[str, float]]) -> list[str]:
    return [text for text, _ in hits]


@pytest.mark.parametrize("k", [2, 5])
def test_a_search_by_vectors_passes_as_it_is(indices: Indices, k: int) -> None:
    direct, proxied = (found(index, "default", k) for index in indices)
    assert proxied == direct
    assert texts(proxied) == BY_VECTORS[:k]


def test_a_search_by_text_is_re_ranked(indices: Indices) -> None:
    direct, proxied = (found(index, "text_search") for index in indices)
    assert texts(direct) == TEXTS
    assert texts(proxied) == BY_WORDS
    scores = [score for _, score in proxied]
    assert scores == sorted(scores, reverse=True)


def test_the_async_client_gets_the_same(indices: Indices) -> None:
    _, proxied = indices

    async def retrieve() -> list[Any]:
        retriever = proxied.as_retriever(vector_store_query_mode="text_search", similarity_top_k=5)
        hits = await retriever.aretrieve(QUERY)
        await proxied.vector_store.client._os_async_client.close()
        return hits

    assert [one.node.get_content() for one in asyncio.run(retrieve())] == BY_WORDS


def test_nodes_are_deleted(indices: Indices) -> None:
    direct, proxied = indices
    proxied.insert_nodes([TextNode(text="any water", id_="gone")])
    assert len(found(direct, "text_search", 10)) == len(TEXTS) + 1
    proxied.delete_nodes(["gone"])
    proxied.vector_store.client._os_client.indices.refresh(index=INDEX)
    assert len(found(direct, "text_search", 10)) == len(TEXTS)
