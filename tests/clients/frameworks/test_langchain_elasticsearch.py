"""LangChain's ElasticSearchBM25Retriever through the proxy; run by `tests/clients/test_frameworks.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import urllib3

pytest.importorskip("langchain_community", reason="run by tests/clients/test_frameworks.py")
from elasticsearch import Elasticsearch
from langchain_community.retrievers import ElasticSearchBM25Retriever

from tests.clients.conftest import Proxying
from tests.clients.frameworks.placed import BY_WORDS, QUERY, TEXTS
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]

INDEX = "clients-langchain"

Retrievers = tuple[ElasticSearchBM25Retriever, ElasticSearchBM25Retriever]


@pytest.fixture(scope="module")
def retrievers(engine: Engine, proxying: Proxying) -> Iterator[Retrievers]:
    """One at the engine and one at the proxy, which wrote the texts."""
    with urllib3.PoolManager(retries=False) as http, proxying(engine.url) as url:
        http.request("DELETE", f"{engine.url}/{INDEX}")
        proxied = ElasticSearchBM25Retriever.create(url, INDEX)
        proxied.add_texts(TEXTS)
        yield ElasticSearchBM25Retriever(client=Elasticsearch(engine.url), index_name=INDEX), proxied
        http.request("DELETE", f"{engine.url}/{INDEX}")


def found(retriever: ElasticSearchBM25Retriever, query: str) -> list[str]:
    return [document.page_content for document in retriever.invoke(query)]


def test_what_it_wrote_is_found_in_another_order(retrievers: Retrievers) -> None:
    direct, proxied = retrievers
    assert found(direct, QUERY) == TEXTS
    assert found(proxied, QUERY) == BY_WORDS


def test_a_query_without_a_known_word_keeps_the_engines_order(retrievers: Retrievers) -> None:
    _, proxied = retrievers
    assert found(proxied, "any") == TEXTS
