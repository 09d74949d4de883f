import gzip
from math import sqrt
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores.base.protocol import WritableStore
from reranker.text.documents import Document
from tests.support.service import fill
from tests.support.tiny import TRANSLATION_COST


def search(client: FlaskClient, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/search", json=body)
    assert response.status_code == 200, response.text
    return response.get_json()


def error(client: FlaskClient, path: str, status: int, **body: Any) -> dict[str, str]:
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    return response.get_json()


def test_a_french_query_finds_english_documents(client: FlaskClient) -> None:
    answer = search(client, query="chat", language="fr", languages=["en"], method="emd")
    hits = answer["hits"]
    assert [hit["id"] for hit in hits] == ["cat-en", "car-en"]
    assert answer["language"] == "fr"
    assert answer["method"] == "emd"
    # "A cat" and "cat dog": two of three words are cats; chat to dog has cosine 0.96 · 0.8 + 0.28 · 0.6 = 0.936. The
    # idf of cat and dog in the three English documents is the same.
    distance = 2 / 3 * TRANSLATION_COST + 1 / 3 * sqrt(2 - 2 * 0.936)
    assert hits[0]["distance"] == pytest.approx(distance, abs=1e-5)
    assert hits[0]["score"] == pytest.approx(1 / (1 + distance), abs=1e-5)
    assert (hits[0]["title"], hits[0]["language"], hits[0]["metadata"]["tag"]) == ("A cat", "en", ["pet", "home"])


def test_a_size_of_null_is_the_default(client: FlaskClient) -> None:
    assert search(client, query="cat", size=None)["hits"] == search(client, query="cat")["hits"]


def test_a_page_larger_than_an_answer_may_be_names_the_size(
    client: FlaskClient, store: WritableStore, embeddings: Embeddings
) -> None:
    """200 documents of 200 KB: 40 MB, of which 150 fit into 32 MB."""
    fill(store, embeddings, "large", [Document(str(n), f"cat{' ' * 200_000}", "en") for n in range(200)])
    body = {"query": "cat", "language": "en", "index": "large", "method": "none"}
    assert len({hit["id"] for hit in search(client, **body, size=150)["hits"]}) == 150
    refused = error(client, "/v1/search", 400, **body, size=200)
    assert "more than 32,000,000 bytes; give a smaller size" in str(refused)


def test_a_hit_without_a_known_word_is_marked_and_has_the_share_of_bm25_alone(client: FlaskClient) -> None:
    """`zzz` is found by BM25 in the one document of unknown words."""
    hits = {hit["id"]: hit for hit in search(client, query="cat zzz", language="en", first_stage="hybrid")["hits"]}
    marked = hits.pop("unknown")
    assert marked["without_known_word"]
    assert marked["distance"] is None
    assert marked["score_parts"]["first_stage"] > 0
    assert marked["score_parts"]["words"] == 0
    assert not any(hit["without_known_word"] for hit in hits.values())


def test_hits_with_less_relevance_are_left_out_of_all_pages(client: FlaskClient) -> None:
    body = {"query": "cat", "language": "en", "languages": ["en"], "first_stage": "hybrid"}
    plain = search(client, **body)
    assert not {"relevance", "no_good_answer", "n_cut"} & {*plain, *plain["hits"][0]}
    whole = search(client, **body, min_relevance=0)
    relevance = {hit["id"]: hit["relevance"] for hit in whole["hits"]}
    assert whole["no_good_answer"] is False
    assert (whole["n_cut"], len(relevance)) == (0, 2)
    # It alone holds the word of the query.
    assert all(relevance["cat-en"] > other for name, other in relevance.items() if name != "cat-en")
    found = search(client, **body, min_relevance=relevance["cat-en"])
    assert [(hit["id"], hit["rank"]) for hit in found["hits"]] == [("cat-en", 1)]
    assert (found["n_cut"], found["no_good_answer"]) == (len(relevance) - 1, False)
    assert search(client, **body, min_relevance=relevance["cat-en"], **{"from": 1})["hits"] == []
    # Behind the window nothing is known of a hit.
    assert len(search(client, **body, depth=1, min_relevance=0)["hits"]) == len(relevance)
    assert len(search(client, **body, depth=1, min_relevance=0.001)["hits"]) == 1
    nothing = search(client, **body, min_relevance=1)
    assert (nothing["hits"], nothing["no_good_answer"]) == ([], True)


def test_of_a_document_in_another_language_no_relevance_is_known(client: FlaskClient) -> None:
    answer = search(client, query="chat", language="fr", languages=["en"], min_relevance=1)
    assert answer["hits"]
    assert not any("relevance" in hit for hit in answer["hits"])
    assert ("no_good_answer" in answer, answer["n_cut"]) == (False, 0)


def test_a_search_and_its_explanation_may_say_how_much_the_first_stage_counts(client: FlaskClient) -> None:
    """BM25 finds `cat` in one English document alone: its share is all that this document has of the first stage."""
    body = {"query": "cat", "language": "en", "languages": ["en"], "first_stage": "hybrid", "first_stage_share": 0.25}
    hits = {hit["id"]: hit for hit in search(client, **body)["hits"]}
    assert hits["cat-en"]["score_parts"]["first_stage"] == pytest.approx(0.98 * 0.25, abs=1e-6)
    explained = client.post("/v1/explain", json={**body, "id": "cat-en"}).get_json()
    assert explained["score_parts"] == hits["cat-en"]["score_parts"]


def test_a_hit_behind_the_window_is_not_marked(client: FlaskClient) -> None:
    hits = search(client, query="cat", depth=2)["hits"]
    assert [hit["distance"] is None for hit in hits] == [False, False, True, True]
    assert not any(hit["without_known_word"] for hit in hits)


def test_filters_reach_the_store(client: FlaskClient) -> None:
    hits = search(client, query="cat", filters={"year": {"gte": 2000}})["hits"]
    assert {hit["id"] for hit in hits} == {"cat-en", "bread-fr"}


@pytest.mark.parametrize("method", ["auto", "nbow", "emd", "sinkhorn"])
def test_each_part_of_an_explanation_sums_to_what_it_says(client: FlaskClient, method: str) -> None:
    body = {"query": "chat chien zzz", "language": "fr", "id": "cat-en", "method": method}
    explained = client.post("/v1/explain", json=body).get_json()
    pairs = [pair for word in explained["words"] for pair in word["pairs"]]
    paid = sum(pair["mass"] * pair["cost"] for pair in pairs) + sum(
        word["rest_distance"] for word in explained["words"]
    )
    assert paid == pytest.approx(explained["distance"], abs=1e-9)
    assert sum(explained["order_parts"].values()) == pytest.approx(explained["order_distance"], abs=1e-9)
    if method == "auto":
        assert sum(explained["score_parts"].values()) == pytest.approx(explained["score"], abs=1e-6)
    else:
        assert explained["score_parts"] is None
        assert explained["score"] == pytest.approx(1 / (1 + explained["order_distance"]), abs=1e-6)
    assert explained["unknown_words"] == ["zzz"]
    # By auto the unknown third of the query counts, by the others the distance alone.
    assert explained["unknown_share"] == pytest.approx(1 / 3 if method == "auto" else 0)
    assert all(0 <= pair["cost"] <= 2 for pair in pairs)
    assert ("the whole texts" in explained["cost_meaning"]) == (method in ("auto", "nbow"))
    assert explained["precision"] == "float64"


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"query": "cat", "langauge": "en"}, 400, "bad_body", "did you mean 'language'? The keys are query, index"),
        ({"query": "cat", "zzz": "en"}, 400, "bad_body", "'zzz' is not a key of this request. The keys are query,"),
        ({"query": "cat", "size": "10"}, 400, "bad_body", "'size'"),
        ({"query": "cat", "size": True}, 400, "bad_body", "'size'"),
        ({"query": 7}, 400, "bad_body", "'query'"),
        ({"query": "c" * 100_001}, 413, "request_entity_too_large", "20000 bytes"),
        ({}, 400, "bad_body", "'query' is missing"),
        ({"query": "  "}, 400, "empty_query", "no word"),
        ({"query": "xxyy", "language": "en"}, 422, "unknown_words", "xxyy"),
        ({"query": "cat", "language": "xx"}, 400, "unknown_language", "'xx'"),
        ({"query": "cat", "languages": ["klingon"]}, 400, "unknown_language", "'klingon'"),
        ({"query": "cat", "method": "sinkhron"}, 400, "bad_input", "did you mean 'sinkhorn'"),
        ({"query": "cat", "first_stage": "magic"}, 400, "bad_input", "hybrid"),
        ({"query": "cat", "first_stage_share": 1.5}, 400, "bad_input", "give 0 to 1"),
        ({"query": "cat", "min_relevance": 2}, 400, "bad_input", "min_relevance is 2.0; give 0 to 1"),
        ({"query": "cat", "min_relevance": "x"}, 400, "bad_body", "'min_relevance'"),
        ({"query": "cat", "min_relevance": 0.5, "method": "emd"}, 400, "bad_input", "needs the method 'auto'"),
        ({"query": "cat", "filters": {"year": {"above": 3}}}, 400, "bad_input", "gte"),
        ({"query": "cat", "filters": {"year": {"gt": 3, "gte": 1}}}, 400, "bad_input", "one of gte and gt"),
        ({"query": "cat", "filters": {"tag": "\ud83d"}}, 400, "bad_body", "Unicode"),
        ({"query": "cat \ud83d"}, 400, "bad_body", "'query'"),
        ({"query": "cat", "\ud83d": 1}, 400, "bad_body", "the body holds half of a surrogate pair"),
        ({"query": "cat", "index": "../etc"}, 400, "bad_input", "cannot be an index"),
        ({"query": "cat", "index": "missing"}, 404, "not_found", "missing"),
    ],
)
def test_bad_searches_say_what_is_wrong(
    client: FlaskClient, body: dict[str, Any], status: int, code: str, words: str
) -> None:
    answer = error(client, "/v1/search", status, **body)
    assert answer["code"] == code
    assert words in answer["detail"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": "cat"}, 400, "bad_body"),
        ({"query": "cat", "id": "nowhere"}, 404, "not_found"),
        ({"query": "cat", "id": "unknown"}, 400, "bad_input"),
        ({"query": "cat", "id": "cat-en", "method": "none"}, 400, "bad_input"),
        ({"query": "", "id": "cat-en"}, 400, "empty_query"),
    ],
)
def test_bad_explanations_say_what_is_wrong(client: FlaskClient, body: dict[str, Any], status: int, code: str) -> None:
    assert error(client, "/v1/explain", status, **body)["code"] == code


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[1]", b'"text"', b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(client: FlaskClient, settings: Settings, data: bytes) -> None:
    response = client.post("/v1/search", data=data[: settings.max_body_bytes])
    assert response.status_code == 400
    assert response.get_json()["code"] in ("not_json", "bad_body")


def test_a_compressed_body_is_refused_for_being_compressed(client: FlaskClient) -> None:
    data = gzip.compress(b'{"query": "cat"}')
    response = client.post("/v1/search", data=data, headers={"Content-Encoding": "gzip"})
    assert response.status_code == 400
    assert "compressed" in response.get_json()["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {"filters": {"x" * 5_000: 1}}),
        ("/v1/search", {"filters": {"tag": {"x" * 5_000: 1}}}),
        ("/v1/search", {"filters": {"tag": [{"x": "y" * 5_000}]}}),
        ("/v1/search", {"filters": {"tag": [None] * 2_000}}),
        ("/v1/explain", {"id": "x" * 5_000}),
    ],
)
def test_an_error_repeats_no_long_value_of_the_request(client: FlaskClient, path: str, body: dict[str, Any]) -> None:
    assert len(error(client, path, 400, query="cat", **body)["detail"]) < 250


@pytest.mark.parametrize("n_levels", [201, 930, 955, 980])
def test_a_body_nested_in_more_than_200_levels_is_refused(client: FlaskClient, n_levels: int) -> None:
    deep = "[" * (n_levels - 2) + "]" * (n_levels - 2)  # in the body and in its object
    answer = client.post("/v1/search", data=f'{{"query": "cat", "filters": {{"tag": {deep}}}}}')
    assert answer.status_code == 400
    assert answer.get_json()["code"] == "bad_body"
    assert "200 levels" in answer.get_json()["detail"]


def test_the_content_type_does_not_matter(client: FlaskClient) -> None:
    response = client.post("/v1/search", data=b'{"query": "cat"}', content_type="text/plain")
    assert response.status_code == 200


def test_a_service_without_a_store_says_so(make_app: Any, settings: Settings) -> None:
    client = make_app(settings, None).test_client()
    assert "--store" in error(client, "/v1/search", 503, query="cat")["detail"]


@pytest.mark.parametrize("filters", [{"tag": ["a"] * 10_001}, {f"field-{number}": 1 for number in range(101)}])
def test_more_filters_than_a_store_takes_are_refused(app: Flask, filters: dict[str, Any]) -> None:
    app.config["MAX_CONTENT_LENGTH"] = 1_000_000
    refused = error(app.test_client(), "/v1/search", 400, query="cat", filters=filters)
    assert refused["code"] == "bad_input"
    assert "at most 100 fields and 10000 values" in refused["detail"]
