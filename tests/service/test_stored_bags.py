"""What a search pipeline sends of an index of ours: the language and the packed bag of each hit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from reranker.embeddings import Embeddings
from reranker.service.text_bags import read_stored_bag
from reranker.text.bags import BagOfWords, pack


def bag(*term_ids: int) -> BagOfWords:
    return BagOfWords(np.array(term_ids, np.int32), np.ones(len(term_ids), np.int32))


def ranked(client: FlaskClient, **body: Any) -> list[int]:
    response = client.post("/v1/rerank", json=body)
    assert response.status_code == 200, response.text
    return [result["index"] for result in response.get_json()["results"]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fr",
        "Alpha",
        "frAlpha",
        "un chat",
        pack(bag(5)),
        "FR" + pack(bag(5)),
        "fr" + pack(bag(10)),
        "fr" + pack(bag(-1)),
    ],
)
def test_any_other_text_is_no_bag(embeddings: Embeddings, text: str) -> None:
    assert read_stored_bag(text, embeddings) is None


def test_stored_bags_and_texts_of_an_index_are_ranked_together(client: FlaskClient) -> None:
    # Term ids: en car 4, fr chat 5; cosines with cat: chat 0.96, dog 0.8, car 0.
    documents = ["en" + pack(bag(4)), "a dog", "fr" + pack(bag(5)), "fr" + pack(bag(10))]
    assert ranked(client, query="cat", language="en", index="pages", documents=documents) == [2, 1, 0, 3]


def test_the_languages_that_are_given_are_those_of_the_texts(client: FlaskClient) -> None:
    documents = ["pain", "pain", "fr" + pack(bag(8))]
    body = {"query": "bread", "language": "en", "index": "pages", "documents": documents}
    assert ranked(client, **body, document_languages=["sv", "fr", "sv"]) == [1, 2, 0]  # there is no Swedish here


def test_without_an_index_a_bag_is_a_text_like_any_other(client: FlaskClient) -> None:
    assert ranked(client, query="cat", language="en", documents=["fr" + pack(bag(5)), "a car"]) == [1, 0]


def test_an_index_that_is_not_there_is_said_in_coheres_shape(client: FlaskClient) -> None:
    response = client.post("/v1/rerank", json={"query": "cat", "documents": ["cat"], "index": "nowhere"})
    assert response.status_code == 404
    assert "'nowhere'" in response.get_json()["message"]
