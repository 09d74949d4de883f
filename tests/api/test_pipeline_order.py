"""The same text through `/v1/search`, the proxy, a search pipeline of the engine and the library: like orders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.engine.pipeline import EnginePipelines, PipelineRequest
from reranker.text.documents import Document
from reranker.upstream.addresses import EngineAddress, read_address
from tests.support.service import fill, serving

OURS = f"ours-{os.getpid()}"
FOREIGN = f"foreign-{os.getpid()}"

# Cat and dog are common in this index, car is rare: without the idf of the index the scores would differ.
DOCUMENTS = [
    Document("cats", "chat chat", "fr", title="Chien"),
    Document("cat", "cat dog", "en", title="A cat"),
    Document("dog", "dog cat cat", "en"),
    Document("car", "car", "en"),
    Document("voiture", "voiture pain", "fr", title="La voiture"),
    Document("bread", "pain eau", "fr"),
    Document("unknown", "zzz qqq", "en"),
]


@pytest.fixture(scope="module")
def http() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False, timeout=60) as http:
        yield http


@pytest.fixture(scope="module")
def service_url(
    opensearch_2_ml_url: str, embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A service over an index of ours, with a pipeline in the engine that asks it."""
    home = tmp_path_factory.mktemp("home")
    settings = Settings(home=home, threads=1, store=opensearch_2_ml_url)
    address = read_address(opensearch_2_ml_url)
    assert isinstance(address, EngineAddress)
    with closing(open_store(opensearch_2_ml_url)) as store, closing(EnginePipelines(address)) as pipelines:
        fill(store, embeddings, OURS, DOCUMENTS)
        app = create_app(settings, store, embeddings)
        with serving(app) as url:
            allow_calls(opensearch_2_ml_url, ".*")
            pipelines.install(PipelineRequest(index=OURS, service_url=url))
            yield url
        pipelines.remove(OURS)
        allow_calls(opensearch_2_ml_url, None)
        store.drop(OURS)


def allow_calls(engine_url: str, pattern: str | None) -> None:
    """Lets the cluster call the service; None: takes that back."""
    names = {
        "trusted_connector_endpoints_regex": pattern and [pattern],
        "connector.private_ip_enabled": pattern and True,
    }
    body = {"persistent": {f"plugins.ml_commons.{name}": value for name, value in names.items()}}
    assert urllib3.request("PUT", f"{engine_url}/_cluster/settings", json=body).status == 200


def post(http: urllib3.PoolManager, url: str, body: Any) -> Any:
    answer = http.request("POST", url, json=body)
    assert answer.status == 200, answer.data.decode()
    return answer.json()


def scores(answer: Any) -> dict[str, float]:
    """Of each document, in the order of the hits."""
    return {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}


def body_for(text: str) -> dict[str, Any]:
    return {"query": {"match_all": {}}, "size": 10, "ext": {"rerank": {"query_context": {"query_text": text}}}}


OUR_TEXTS = ["cat car", "le chien et le pain", "voiture", "dog water bread cat", "zzz cat"]


@pytest.mark.parametrize("text", OUR_TEXTS)
def test_a_pipeline_over_our_own_index_orders_and_scores_as_the_library(
    http: urllib3.PoolManager, service_url: str, opensearch_2_ml_url: str, embeddings: Embeddings, text: str
) -> None:
    path = f"{opensearch_2_ml_url}/{OURS}/_search?search_pipeline=sinkrank-{OURS}"
    in_pipeline = scores(post(http, path, body_for(text)))
    with closing(open_store(opensearch_2_ml_url)) as store:
        reranker = Searcher(store, embeddings).open(OURS).reranker
        languages = [document.language for document in DOCUMENTS]
        query = reranker.query(text).language
        ranking = reranker.rerank(
            text, [document.full_text for document in DOCUMENTS], language=query, document_languages=languages
        )
    expected = {DOCUMENTS[one.index].doc_id: one.score for one in ranking.documents}
    assert in_pipeline == pytest.approx(expected, abs=1e-6)
    assert [in_pipeline[doc_id] for doc_id in expected] == sorted(in_pipeline.values(), reverse=True)


@pytest.mark.parametrize("text", OUR_TEXTS)
def test_a_pipeline_over_our_own_index_orders_as_a_search_with_bm25(
    http: urllib3.PoolManager, service_url: str, opensearch_2_ml_url: str, text: str
) -> None:
    """The scores differ: the engine's BM25 weighs the title apart from the text, and a pipeline sees one bag of both.
    So documents that a search tells apart by their titles alone may tie."""
    found = post(http, f"{service_url}/v1/search", {"query": text, "index": OURS, "first_stage": "bm25"})["hits"]
    assert found
    path = f"{opensearch_2_ml_url}/{OURS}/_search?search_pipeline=sinkrank-{OURS}"
    same_candidates = {**body_for(text), "query": {"ids": {"values": [hit["id"] for hit in found]}}}
    in_pipeline = scores(post(http, path, same_candidates))
    assert len(in_pipeline) == len(found)
    assert [in_pipeline[hit["id"]] for hit in found] == sorted(in_pipeline.values(), reverse=True)


@pytest.mark.parametrize("text", OUR_TEXTS)
def test_where_the_engine_scores_all_hits_alike_the_proxy_orders_as_a_search_by_transport_alone(
    http: urllib3.PoolManager, service_url: str, text: str
) -> None:
    found = post(http, f"{service_url}/v1/search", {"query": text, "index": OURS, "first_stage": "knn"})["hits"]
    assert len(found) == len(DOCUMENTS) - 1
    through_proxy = scores(post(http, f"{service_url}/{OURS}/_search", body_for(text)))
    # It has no known word, so no vector, and kNN does not find it; the engine's search does, and it comes last.
    assert list(through_proxy) == [*(hit["id"] for hit in found), "unknown"]


def test_our_own_index_takes_no_other_fields(service_url: str, opensearch_2_ml_url: str) -> None:
    address = read_address(opensearch_2_ml_url)
    assert isinstance(address, EngineAddress)
    with closing(EnginePipelines(address)) as pipelines, pytest.raises(BadInput, match="leave out --field"):
        pipelines.install(PipelineRequest(index=OURS, service_url=service_url, fields=("title",)))


@pytest.fixture(scope="module")
def foreign(http: urllib3.PoolManager, service_url: str, opensearch_2_ml_url: str) -> Iterator[str]:
    """The address of an index of others with a pipeline, in the engine."""
    url = f"{opensearch_2_ml_url}/{FOREIGN}"
    http.request("PUT", url, json={"mappings": {"properties": {"text": {"type": "text"}}}})
    for document in DOCUMENTS:
        http.request("PUT", f"{url}/_doc/{document.doc_id}?refresh=true", json={"text": document.text})
    address = read_address(opensearch_2_ml_url)
    assert isinstance(address, EngineAddress)
    with closing(EnginePipelines(address)) as pipelines:
        pipelines.install(PipelineRequest(index=FOREIGN, service_url=service_url))
        yield url
        pipelines.remove(FOREIGN)
    http.request("DELETE", url)


@pytest.mark.parametrize("text", ["cat", "le chien et le pain", "dog water bread cat"])
def test_an_index_of_others_has_one_order_in_proxy_and_pipeline(
    http: urllib3.PoolManager, service_url: str, foreign: str, text: str
) -> None:
    through_proxy = scores(post(http, f"{service_url}/{FOREIGN}/_search", body_for(text)))
    in_pipeline = scores(post(http, f"{foreign}/_search?search_pipeline=sinkrank-{FOREIGN}", body_for(text)))
    assert len(in_pipeline) == len(DOCUMENTS)
    # The scores differ: the proxy adds the engine's, which is 1.0 for every hit here.
    assert list(in_pipeline) == list(through_proxy)


@pytest.fixture
def strict_pipeline(http: urllib3.PoolManager, foreign: str, opensearch_2_ml_url: str) -> Iterator[str]:
    """The name of a pipeline of neural-search whose `rerank` processor fails without its section, as by default."""
    path, name = f"{opensearch_2_ml_url}/_search/pipeline", f"strict-{FOREIGN}"
    pipeline = http.request("GET", f"{path}/sinkrank-{FOREIGN}").json()[f"sinkrank-{FOREIGN}"]
    del pipeline["response_processors"][0]["rerank"]["ignore_failure"]
    assert http.request("PUT", f"{path}/{name}", json=pipeline).status == 200
    yield name
    http.request("PUT", f"{foreign}/_settings", json={"index.search.default_pipeline": None})
    http.request("DELETE", f"{path}/{name}")


@pytest.mark.parametrize("more", ["", "&rerank=false"])
@pytest.mark.parametrize("named_in", ["url", "body", "index"])
def test_a_search_by_the_engines_own_rerank_processor_is_answered_as_the_engine_does(
    http: urllib3.PoolManager, service_url: str, foreign: str, strict_pipeline: str, named_in: str, more: str
) -> None:
    """It reads the same `ext.rerank.query_context` as we do."""
    body = body_for("dog water") | ({"search_pipeline": strict_pipeline} if named_in == "body" else {})
    path = f"_search?search_pipeline={strict_pipeline}" if named_in == "url" else "_search?from=0"
    if named_in == "index":
        http.request("PUT", f"{foreign}/_settings", json={"index.search.default_pipeline": strict_pipeline})
    direct = scores(post(http, f"{foreign}/{path}", body))
    assert list(direct) != [document.doc_id for document in DOCUMENTS]
    assert scores(post(http, f"{service_url}/{FOREIGN}/{path}{more}", body)) == direct
