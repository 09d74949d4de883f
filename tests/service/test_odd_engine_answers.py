"""What our own routes say where something answers 200 that is no search engine."""

from __future__ import annotations

from typing import Any

import pytest

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import IndexDescription
from tests.stores.fake_engine import serve

LANGUAGES = {"languages": {"buckets": [{"key": "en", "doc_count": 1}]}}


@pytest.mark.parametrize("first_stage", ["knn", "bm25", "hybrid"])
@pytest.mark.parametrize(
    "odd",
    [
        [],
        ["hits"],
        "welcome",
        7,
        {},
        {"hits": []},
        {"hits": {"total": 1}},
        {"hits": {"hits": {}}},
        {"hits": {"hits": [1]}},
    ],
    ids=str,
)
def test_an_answer_that_is_none_of_a_search_is_a_502_that_names_the_address(
    embeddings: Embeddings, odd: Any, first_stage: str
) -> None:
    meta = {"docs": {"mappings": {"_meta": IndexDescription(embeddings.version, embeddings.dim).as_meta()}}}

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if path == "/":
            return 200, {"version": {"distribution": "opensearch", "number": "2.19.1"}}
        if "_mget" in path:
            return 200, {"docs": [{"found": False}]}
        if "_search" in path:
            return 200, {"hits": {"hits": []}, "aggregations": LANGUAGES} if "aggs" in body else odd
        return 200, meta

    with serve(answer) as node:
        store = open_store(node.address)
        client = create_app(Settings(store=node.address, threads=1), store, embeddings).test_client()
        sent = {"query": "cat", "language": "en", "index": "docs", "first_stage": first_stage}
        response = client.post("/v1/search", json=sent)
        store.close()
    problem = response.get_json()
    assert (response.status_code, problem["code"]) == (502, "not_an_engine")
    assert node.address in problem["detail"]
    assert "check host, port and path" in problem["detail"]
