"""LangChain's OpenSearchVectorSearch through the proxy; run by `tests/clients/test_frameworks.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_community", reason="run by tests/clients/test_frameworks.py")
from langchain_community.vectorstores.opensearch_vector_search import OpenSearchVectorSearch
from langchain_core.embeddings import Embeddings

from tests.clients.conftest import Proxying
from tests.clients.frameworks.placed import BY_VECTORS, BY_WORDS, QUERY, TEXTS, vector
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]

INDEX = "clients-langchain"

Stores = tuple[OpenSearchVectorSearch, OpenSearchVectorSearch]


class PlacedTexts(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return vector(text)


def store_at(url: str) -> OpenSearchVectorSearch:
    return OpenSearchVectorSearch(url, INDEX, PlacedTexts(), engine="lucene")


@pytest.fixture(scope="module")
def stores(engine: Engine, proxying: Proxying) -> Iterator[Stores]:
    """One at the engine and one at the proxy, which wrote the texts."""
    with proxying(engine.url) as url:
        direct, proxied = store_at(engine.url), store_at(url)
        if direct.index_exists(INDEX):
            direct.delete_index(INDEX)
        metadata = [{"n": n} for n in range(len(TEXTS))]
        ids = proxied.add_texts(
            TEXTS, metadata, ids=[str(n) for n in range(len(TEXTS))], space_type="cosinesimil", refresh_indices=True
        )
        assert len(ids) == len(TEXTS)
        yield direct, proxied
        proxied.delete_index(INDEX)
        assert not direct.index_exists(INDEX)


def texts(found: list[Any]) -> list[str]:
    return [document.page_content for document in found]


def test_what_it_wrote_is_in_the_engine(stores: Stores) -> None:
    direct, _ = stores
    hits = direct.client.search(index=INDEX, body={"sort": ["metadata.n"]})["hits"]["hits"]
    assert [(hit["_id"], hit["_source"]["text"]) for hit in hits] == [(str(n), text) for n, text in enumerate(TEXTS)]
    assert hits[0]["_source"]["vector_field"] == [1.0, 0.0]


@pytest.mark.parametrize("k", [2, 5])
def test_a_search_by_vectors_passes_as_it_is(stores: Stores, k: int) -> None:
    direct, proxied = (store.similarity_search_with_score(QUERY, k=k) for store in stores)
    assert proxied == direct
    assert texts([document for document, _ in proxied]) == BY_VECTORS[:k]


def test_a_filter_and_diverse_hits_pass_too(stores: Stores) -> None:
    above_one = {"range": {"metadata.n": {"gt": 1}}}
    direct, proxied = (store.similarity_search(QUERY, k=5, efficient_filter=above_one) for store in stores)
    assert proxied == direct
    assert texts(proxied) == ["any water", "any dog", "any cat"]
    direct, proxied = (store.max_marginal_relevance_search(QUERY, k=3, fetch_k=5) for store in stores)
    assert proxied == direct
    assert len(proxied) == 3


def test_scores_of_a_script_are_kept(stores: Stores) -> None:
    options = {"search_type": "script_scoring", "space_type": "cosinesimil", "pre_filter": {"match": {"text": QUERY}}}
    direct, proxied = (store.similarity_search(QUERY, k=5, **options) for store in stores)
    assert texts(direct) == texts(proxied) == BY_VECTORS


def test_the_client_of_the_store_gets_a_text_search_re_ranked(stores: Stores) -> None:
    body = {"query": {"match": {"text": QUERY}}}
    found = [store.client.search(index=INDEX, body=body)["hits"]["hits"] for store in stores]
    orders = [[hit["_source"]["text"] for hit in hits] for hits in found]
    assert orders == [TEXTS, BY_WORDS]


def test_documents_are_deleted_by_their_ids(stores: Stores) -> None:
    direct, proxied = stores
    proxied.add_texts(["any water"], [{"n": 9}], ids=["gone"], refresh_indices=True)
    assert direct.client.exists(index=INDEX, id="gone")
    assert proxied.delete(["gone"], refresh_indices=True)
    assert not direct.client.exists(index=INDEX, id="gone")
