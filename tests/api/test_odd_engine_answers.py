"""What our own routes say where something answers 200 that is no search engine."""

from __future__ import annotations

from typing import Any

import pytest

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from tests.api.test_callers import engine


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
    with engine(embeddings, found=odd) as (node, store, _):
        client = create_app(Settings(store=node.address, threads=1), store, embeddings).test_client()
        sent = {"query": "cat", "language": "en", "index": "docs", "first_stage": first_stage}
        response = client.post("/v1/search", json=sent)
    problem = response.get_json()
    assert (response.status_code, problem["code"]) == (502, "not_an_engine")
    assert node.address in problem["detail"]
    assert "check host, port and path" in problem["detail"]
