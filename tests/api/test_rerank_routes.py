import json
from collections.abc import Callable
from typing import Any

import cohere
import httpx
import pytest
import regex
from flask import Flask
from flask.testing import FlaskClient

from reranker.api.limits import REFUSAL
from reranker.api.rerank_routes import MODEL
from reranker.base.errors import WrongParameter
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from tests.support.service import serving
from tests.support.tiny import TRANSLATION_DISTANCE

TEXTS = ["une voiture", "un chat", "", "un chien", "zzz"]
BY_CAT = [1, 3, 0, 2, 4]  # cosines with cat: chat 0.96, chien 0.6, voiture 0.28; the others have no known word


def rerank(client: FlaskClient, path: str = "/v1/rerank", **body: Any) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.get_json()


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_documents_come_back_once_each_best_first(client: FlaskClient, path: str) -> None:
    answer = rerank(client, path, query="cat", documents=TEXTS)
    assert [result["index"] for result in answer["results"]] == BY_CAT
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores[0] == pytest.approx(1 / (1 + TRANSLATION_DISTANCE), abs=1e-6)
    assert scores == sorted(scores, reverse=True)
    assert answer["object"] == "rerank"
    assert answer["model"] == MODEL
    assert answer["meta"]["api_version"]["version"] == ("2" if path == "/v2/rerank" else "1")
    assert answer["usage"]["total_tokens"] > 0


def test_the_real_cohere_clients_get_the_right_order(app: Flask) -> None:
    with serving(app) as url, httpx.Client() as http:
        for kind in (cohere.Client, cohere.ClientV2):
            client = kind("key", base_url=url, httpx_client=http)
            answer = client.rerank(model="rerank-v3.5", query="cat", documents=TEXTS, top_n=2)
            assert [result.index for result in answer.results] == BY_CAT[:2]
            assert answer.results[0].relevance_score == pytest.approx(1 / (1 + TRANSLATION_DISTANCE), abs=1e-6)


def test_the_real_cohere_client_raises_our_error(app: Flask) -> None:
    with serving(app) as url, httpx.Client() as http:
        client = cohere.ClientV2("key", base_url=url, httpx_client=http)
        with pytest.raises(cohere.BadRequestError, match="query is empty"):
            client.rerank(model="m", query=" ", documents=TEXTS)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_each_score_is_a_literal_that_java_reads_as_a_double(client: FlaskClient, path: str) -> None:
    texts = ["cat", *TEXTS]
    key = "texts" if path == "/rerank" else "documents"
    body = client.post(path, json={"query": "cat", key: texts, "language": "en"}).get_data(as_text=True)
    literals = regex.findall(r'"(?:relevance_)?score":([^,}]+)', body)
    assert len(literals) == len(texts)
    assert all(regex.fullmatch(r"[01]\.\d{1,6}", literal) for literal in literals), literals
    assert "1.0" in literals
    assert "0.02" in literals  # the least of a candidate: no known word


def test_top_n_cuts_and_may_be_more_than_there_are(client: FlaskClient) -> None:
    assert len(rerank(client, query="cat", documents=TEXTS, top_n=2)["results"]) == 2
    assert len(rerank(client, query="cat", documents=TEXTS, top_n=99)["results"]) == len(TEXTS)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_relevance_is_an_option_and_leaves_texts_out_before_the_best_few_are_taken(
    client: FlaskClient, path: str
) -> None:
    texts = ["a car", "water", "a cat", "cat dog"]
    plain = rerank(client, path, query="cat", language="en", documents=texts)
    assert not {"relevance", "no_good_answer", "n_cut"} & {*plain["results"][0], *plain["meta"]}
    whole = rerank(client, path, query="cat", language="en", documents=texts, min_relevance=0)
    relevance = {result["index"]: result["relevance"] for result in whole["results"]}
    assert [relevance[n] > max(relevance[0], relevance[1]) for n in (2, 3)] == [True, True]
    assert (whole["meta"]["no_good_answer"], whole["meta"]["n_cut"]) == (False, 0)
    least = min(relevance[2], relevance[3])
    found = rerank(client, path, query="cat", language="en", documents=texts, min_relevance=least, top_n=1)
    assert ([result["index"] for result in found["results"]], found["meta"]["n_cut"]) == ([2], 2)
    assert rerank(client, path, query="cat", documents=[], min_relevance=0)["meta"]["no_good_answer"] is True


@pytest.mark.parametrize(
    ("documents", "said"), [(["a cat", "zzz"], {"n_cut": 0}), ([], {"n_cut": 0, "no_good_answer": True})]
)
def test_nothing_is_left_out_for_a_query_without_a_known_word(
    client: FlaskClient, documents: list[str], said: dict[str, Any]
) -> None:
    answer = rerank(client, query="zzz", documents=documents, min_relevance=0.5)
    assert len(answer["results"]) == len(documents)
    assert {name: answer["meta"][name] for name in ("n_cut", "no_good_answer") if name in answer["meta"]} == said
    response = client.post("/rerank", json={"query": "zzz", "texts": documents, "min_relevance": 0.5})
    assert response.headers.get("X-Rerank-No-Good-Answer") == (None if documents else "true")


def test_texts_of_the_other_shape_say_it_in_a_header(client: FlaskClient) -> None:
    body = {"query": "cat", "language": "en", "texts": ["water", "a cat"], "min_relevance": 0}
    response = client.post("/rerank", json=body)
    assert response.headers["X-Rerank-No-Good-Answer"] == "false"
    assert [set(each) for each in response.get_json()] == [{"index", "score", "relevance"}] * 2
    response = client.post("/rerank", json=body | {"min_relevance": 1})
    assert (response.headers["X-Rerank-No-Good-Answer"], response.get_json()) == ("true", [])


def test_the_best_few_are_those_of_all_and_by_emd_the_others_are_not_solved(client: FlaskClient) -> None:
    """300 times bread, opposite of the cat, and the others between them: no bound leaves out one that may be best."""
    documents = ["bread"] * 150 + ["zzz", "chien chat", "cat", "dog", "water dog"] + ["bread"] * 150
    for method in ("emd", "sinkhorn", "relaxed", "auto"):
        body = {"query": "chat", "language": "fr", "documents": documents, "document_languages": "en", "method": method}
        all_of_them, best = rerank(client, **body), rerank(client, **body, top_n=3)
        assert best["results"] == all_of_them["results"][:3]
        assert all_of_them["meta"]["n_solved"] == len(documents) - 1  # all but "zzz"
        assert (best["meta"]["n_solved"] < 100) == (method == "emd")  # bounds spare the others of `emd` alone


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_texts_without_a_known_word_are_marked_and_no_others(client: FlaskClient, path: str) -> None:
    for key, answer_of in (("documents", lambda answer: answer["results"]), ("texts", lambda answer: answer)):
        if key == "documents" or path == "/rerank":
            results = answer_of(rerank(client, path, **{"query": "cat", key: TEXTS}))
            marked = {result["index"]: result.get("without_known_word") for result in results}
            assert marked == {0: None, 1: None, 2: True, 3: None, 4: True}


def test_the_precision_is_that_of_the_epsilon(client: FlaskClient) -> None:
    for epsilon, precision in ((0.1, "float32"), (0.02, "float64")):
        body = {"query": "cat", "method": "sinkhorn", "epsilon": epsilon}
        assert rerank(client, documents=TEXTS, **body)["meta"]["precision"] == precision
        answer = client.post("/rerank", json={"texts": TEXTS, **body})
        assert answer.headers["X-Rerank-Precision"] == precision
        assert answer.headers["X-Rerank-Method"] == "sinkhorn"
    assert rerank(client, query="zzz", documents=TEXTS)["meta"]["precision"] == "none"


def test_documents_come_back_where_they_are_asked_for(client: FlaskClient) -> None:
    documents = ["chien", {"text": "chat", "id": 7}]
    results = rerank(client, query="cat", documents=documents, return_documents=True)["results"]
    assert [result["document"] for result in results] == [{"text": "chat", "id": 7}, {"text": "chien"}]
    assert "document" not in rerank(client, query="cat", documents=documents)["results"][0]


def test_rank_fields_choose_what_is_read(client: FlaskClient) -> None:
    documents = [{"title": "car", "body": "cat"}, {"title": "cat", "body": "car"}, {"body": "cat"}]
    for fields, best in ((["title"], 1), (["body"], 0)):
        results = rerank(client, query="cat", documents=documents, rank_fields=fields)["results"]
        assert results[0]["index"] == best
        assert len(results) == 3


def test_a_rank_field_that_is_named_again_is_read_once(client: FlaskClient) -> None:
    # A small body would else become a text of any size; its words are counted here.
    answer = rerank(client, query="cat", documents=[{"title": "cat"}], rank_fields=["title"] * 50)
    assert answer["usage"]["total_tokens"] == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [(["cat", None, ["car"]], "cat\ncar"), ({"en": "cat", "n": [4.5, 2]}, "cat\n4.5\n2"), ([None], "")],
)
def test_a_rank_field_with_a_list_or_an_object_is_read_as_the_texts_and_numbers_in_it(
    client: FlaskClient, value: Any, text: str
) -> None:
    body = {"query": "cat none", "language": "en", "document_languages": "en"}
    read = rerank(client, documents=[{"tags": value}, "car"], rank_fields=["tags"], **body)
    expected = rerank(client, documents=[text, "car"], **body)
    assert (read["results"], read["usage"]) == (expected["results"], expected["usage"])


def test_keys_of_other_clients_are_accepted(client: FlaskClient) -> None:
    extras = {
        "max_chunks_per_doc": 10,
        "max_tokens_per_doc": 4096,
        "priority": 1,
        "truncate": True,
        "truncation_direction": "right",
        "model": "any",
        "nonsense": {"a": 1},
        "top_n": None,
    }
    assert rerank(client, query="cat", documents=TEXTS, **extras)["model"] == "any"
    assert len(rerank(client, "/rerank", query="cat", texts=TEXTS, raw_scores=True, **extras)) == len(TEXTS)


def test_tei_answers_a_bare_list(client: FlaskClient) -> None:
    answer = rerank(client, "/rerank", query="cat", texts=TEXTS)
    assert [result["index"] for result in answer] == BY_CAT
    assert set(answer[0]) == {"index", "score"}
    assert rerank(client, "/rerank", query="cat", texts=TEXTS, return_text=True)[0]["text"] == "un chat"


def test_languages_of_query_and_documents_can_be_given(client: FlaskClient) -> None:
    documents = ["pain", "pain", "cat"]
    languages = {"languages": ["sv", "fr", "en"]}  # there are no embeddings of Swedish
    answer = rerank(client, query="bread", language="en", documents=documents, **languages)
    assert [result["index"] for result in answer["results"]] == [1, 2, 0]
    answer = rerank(client, query="bread", language="en", documents=documents, document_languages="fr")
    assert [result["index"] for result in answer["results"]] == [0, 1, 2]


@pytest.mark.parametrize("query", ["zzz qqq", "2019", "?!"])
def test_a_query_without_a_known_word_keeps_the_order_given_and_warns(client: FlaskClient, query: str) -> None:
    answer = rerank(client, query=query, documents=TEXTS)
    assert [result["index"] for result in answer["results"]] == [0, 1, 2, 3, 4]
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == [0.000005, 0.000004, 0.000003, 0.000002, 0.000001]
    assert "order given" in answer["meta"]["warnings"][0]
    assert [result["index"] for result in rerank(client, "/rerank", query=query, texts=TEXTS)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("query", "documents", "warned"),
    [
        ("cat", TEXTS, []),
        # Of no language that is held: caat and chaat have the nearest spellings cat and chat.
        ("caat", TEXTS, ["no word of the query has an embedding of its own in language"]),
        ("cat", ["voituree", "chieen chaat", "paain"], ["hardly a word of the documents has an embedding of its own"]),
    ],
)
def test_an_order_by_spelling_alone_is_warned_of(
    client: FlaskClient, query: str, documents: list[str], warned: list[str]
) -> None:
    body = {"language": "en", "document_languages": "fr"}
    warnings = rerank(client, query=query, documents=documents, **body)["meta"].get("warnings", [])
    assert len(warnings) == len(warned)
    for warning, words in zip(warnings, warned, strict=True):
        assert words in warning
        assert "name its language if it is one of en, fr, or load embeddings of it" in warning


@pytest.mark.parametrize("path", ["/v1/rerank", "/rerank"])
def test_a_text_cut_within_an_emoji_is_ranked_and_given_back(client: FlaskClient, path: str) -> None:
    key = "texts" if path == "/rerank" else "documents"
    data = f'{{"query": "cat", "{key}": ["chat \\ud83d"], "return_documents": true, "return_text": true}}'
    response = client.post(path, data=data)
    assert response.status_code == 200, response.text
    assert b'"chat \\ud83d"' in response.data


@pytest.mark.parametrize(("n_levels", "status"), [(200, 200), (201, 400), (930, 400), (955, 400), (980, 400)])
def test_a_document_is_given_back_however_deep_it_is_unless_the_body_is_refused(
    client: FlaskClient, n_levels: int, status: int
) -> None:
    n_inside = n_levels - 3  # the body, its documents and the document
    data = (
        '{"query": "cat", "return_documents": true, "documents": [{"text": "chat", "deep": '
        f"{'[' * n_inside}{']' * n_inside}}}]}}"
    )
    response = client.post("/v1/rerank", data=data)
    assert response.status_code == status
    assert ("200 levels" in response.text) == (status == 400)


def test_no_documents_are_no_error(client: FlaskClient) -> None:
    assert rerank(client, query="cat", documents=[])["results"] == []
    assert rerank(client, "/rerank", query="cat", texts=[]) == []


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"documents": TEXTS}, 400, "'query' is missing"),
        ({"query": "cat"}, 400, "'documents' is missing"),
        ({"query": " ", "documents": TEXTS}, 400, "empty"),
        ({"query": "cat", "documents": "cat"}, 400, "'documents'"),
        ({"query": "cat", "documents": ["cat", None]}, 400, "document 1"),
        ({"query": "cat", "documents": [{"title": "x"}]}, 400, "rank_fields"),
        ({"query": "cat", "documents": [{"title": "x"}], "rank_fields": ["title"] * 101}, 400, "'rank_fields'"),
        ({"query": "cat", "documents": TEXTS, "top_n": 0}, 400, "'top_n'"),
        ({"query": "cat", "documents": TEXTS, "languages": ["fr"]}, 400, "1 document languages came for 5"),
        ({"query": "cat", "documents": TEXTS, "languages": ["fr", None]}, 400, "'languages.1': input should be a"),
        ({"query": "cat", "documents": TEXTS, "languages": 7}, 400, "'languages': input should be a"),
        ({"query": "cat", "documents": TEXTS, "language": "xx"}, 400, "'xx'"),
        ({"query": "cat", "documents": TEXTS, "method": "magic"}, 400, "magic"),
        ({"query": "zzz", "documents": TEXTS, "method": "magic"}, 400, "magic"),
        ({"query": "cat", "documents": ["a"] * 1_001}, 413, "at most 1000"),
        ({"query": "cat", "documents": ["a" * 30_000]}, 413, "20000 bytes"),
    ],
)
def test_errors_have_coheres_shape(
    client: FlaskClient, path: str, body: dict[str, Any], status: int, words: str
) -> None:
    response = client.post(path, json=body)
    assert response.status_code == status
    assert set(response.get_json()) == {"id", "message", "detail"}
    assert words in response.get_json()["message"]
    assert response.get_json()["detail"] == response.get_json()["message"]  # for Jina's clients


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/v1/rerank/", {"id", "message", "detail"}),
        ("/v2/rerank/", {"id", "message", "detail"}),
        ("/rerank/", {"error", "error_type"}),
        ("/v1/search/", {"type", "title", "status", "detail", "code"}),
    ],
)
def test_a_slash_at_the_end_changes_no_shape(client: FlaskClient, path: str, keys: set[str]) -> None:
    response = client.post(path, data=b"{")
    assert response.status_code == 400
    assert set(response.get_json()) == keys


@pytest.mark.parametrize(
    ("data", "status", "kind"),
    [
        (b"{", 400, "validation"),
        (json.dumps({"texts": TEXTS}).encode(), 422, "validation"),
        (json.dumps({"query": "cat", "texts": [1]}).encode(), 422, "validation"),
        (json.dumps({"query": "", "texts": TEXTS}).encode(), 400, "empty"),
        (json.dumps({"query": "cat", "texts": ["a"] * 1_001}).encode(), 413, "validation"),
        (json.dumps({"query": "cat", "texts": ["a" * 30_000]}).encode(), 413, "validation"),
    ],
)
def test_errors_have_teis_shape(client: FlaskClient, data: bytes, status: int, kind: str) -> None:
    response = client.post("/rerank", data=data)
    assert response.status_code == status
    assert response.get_json()["error_type"] == kind
    assert isinstance(response.get_json()["error"], str)


def test_too_many_requests_are_teis_overload(client: FlaskClient) -> None:
    refusal = {REFUSAL: "threads"}
    response = client.post("/rerank", json={"query": "cat", "texts": TEXTS}, environ_overrides=refusal)
    assert response.status_code == 429
    assert response.get_json()["error_type"] == "overloaded"


def test_documents_on_teis_path_get_coheres_errors(client: FlaskClient) -> None:
    response = client.post("/rerank", json={"query": "", "documents": TEXTS})
    assert response.status_code == 400
    assert "message" in response.get_json()


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_no_answer_can_hold_is_refused(client: FlaskClient, number: str) -> None:
    body = f'{{"query": "cat", "documents": [{{"text": "chat", "n": {number}}}], "return_documents": true}}'
    assert client.post("/v1/rerank", data=body).status_code == 400


@pytest.mark.parametrize("key", ["language", "document_languages", "method"])
def test_a_name_as_long_as_a_page_is_refused_at_once(client: FlaskClient, key: str) -> None:
    response = client.post("/v1/rerank", json={"query": "cat", "documents": ["chat"], key: "ab " * 5_000})
    assert response.status_code == 400
    assert len(response.get_json()["message"]) < 200


@pytest.mark.parametrize(("key", "value"), [("n_iterations", 1_001), ("epsilon", 0.0029)])
def test_no_request_may_ask_for_hours_of_work(client: FlaskClient, key: str, value: float) -> None:
    response = client.post("/v1/rerank", json={"query": "cat", "documents": ["chat"], key: value})
    assert response.status_code == 400
    assert key in response.get_json()["message"]


def test_the_setting_decides_where_the_words_of_a_query_do_not_tell_its_language(
    make_app: Callable[[Settings, Store | None], Flask],
) -> None:
    for code in ("en", "fr-FR"):
        service = make_app(Settings(query_language=code), None).extensions[EXTENSION]
        assert service.reranker.query("cat chat").language == code[:2]
        assert service.reranker.query("cat chat", "fr").language == "fr"  # the request comes first
    with pytest.raises(WrongParameter, match=r"query_language is 'de', and the embeddings hold en, fr"):
        make_app(Settings(query_language="de"), None)


def test_what_the_settings_allow_a_request_may_ask_for(
    make_app: Callable[[Settings, Store | None], Flask],
) -> None:
    client = make_app(Settings(epsilon=0.002), None).test_client()
    assert rerank(client, query="cat", documents=["chat"], epsilon=0.002)["results"]
