"""`POST /v1/explain` of hits that the proxy re-ranks, in indices of real engines that Sinkrank did not make."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import urllib3
from flask import Flask
from flask.testing import FlaskClient

from tests.proxy.conftest import named_index
from tests.support.calls import WORDS, make_index, post
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.engine, pytest.mark.any_engine]

KNOWN = ["cat", "dog", "water", "bread", "car"]
PETS = [
    {"name": first, "prose": {"body": f"{second} {third} qqq"}, "price": 1}
    for first, second, third in itertools.permutations(KNOWN, 3)
]


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="module")
def pets(engine: Engine) -> Iterator[str]:
    """60 documents with three of five words each, made without Sinkrank."""
    properties = {"name": {"type": "text"}, "prose": {"properties": {"body": {"type": "text"}}}}
    with named_index(engine.url) as name, urllib3.PoolManager(retries=False) as http:
        make_index(http, engine.url, name, properties, PETS)
        yield name


def explain(client: FlaskClient, status: int = 200, **body: Any) -> dict[str, Any]:
    response = client.post("/v1/explain", json=body)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.get_json()
    return answer


def test_an_index_may_have_any_name_that_the_engine_allows(client: FlaskClient, engine: Engine, pets: str) -> None:
    alias = f".{pets}-über"
    urllib3.request("PUT", f"{engine.url}/{pets}/_alias/{quote(alias)}")
    assert explain(client, index=alias, id="0", search=text_search())["index"] == pets
    for wrong in (f"{pets},x", f"{pets}/_search?", "*", ".."):
        assert "is not an index" in explain(client, 400, index=wrong, id="0", search=text_search())["detail"]


def text_search(**rerank: Any) -> dict[str, Any]:
    """A search by a query long enough for feedback and neighbours."""
    fields = ["name^2", "prose.body"]
    query = {"multi_match": {"query": "cat dog water bread", "fields": fields}}
    return {"query": query, "ext": {"rerank": {"language": "en", "details": True, **rerank}}}


def test_an_explanation_agrees_with_the_details_of_the_proxys_search(
    client: FlaskClient, pets: str, app: Flask
) -> None:
    """The page of the search, its highlights and fields make no difference."""
    search = {**text_search(), "size": 3, "_source": False, "highlight": {"fields": {"name": {}}}, "from": 2}
    client.post(f"/{pets}/_search", json=search)
    app.extensions["sinkrank-proxy"].ranking.statistics.wait(60)  # the weights of words are learned meanwhile
    hits = client.post(f"/{pets}/_search", json=search).get_json()["hits"]["hits"]
    assert len(hits) == 3
    for hit in hits:
        explained = explain(client, index=pets, id=hit["_id"], search=search)
        assert (explained["id"], explained["index"]) == (hit["_id"], pets)
        assert explained["score"] == hit["_score"]
        for key in ("score_parts", "score_sources", "lacking_words", "hubness"):
            assert explained[key] == hit["_rerank"][key]
        assert explained["distance"] == pytest.approx(hit["_rerank"]["distance"], rel=1e-4)
        assert sum(word["distance"] for word in explained["words"]) == pytest.approx(explained["distance"], abs=1e-9)
        assert sum(explained["score_parts"].values()) == pytest.approx(explained["score"], abs=1e-6)
        own = PETS[int(hit["_id"])]
        assert explained["document"]["text"] == f"{own['name']}\n{own['prose']['body']}"
        assert explained["document"]["language"] == "en"
        # The places of the words are those in this text.
        for word in explained["document_words"]:
            ((start, end),) = word["in_text"]
            assert explained["document"]["text"][start:end] == word["word"]
        sources = explained["score_sources"]
        assert sources["feedback"]["words"] == []  # the best hits hold no word but those that are asked for
        assert {word["id"] for word in sources["neighbours"]["documents"]} <= {str(n) for n in range(len(PETS))}


def test_without_a_search_all_fields_are_searched_by_the_query(client: FlaskClient, pets: str) -> None:
    explained = explain(client, index=pets, id="0", query="cat", language="en", method="emd", depth=100)
    assert explained["method"] == "emd"
    assert explained["score_parts"] is None
    assert explained["score_sources"] is None
    assert explained["document"]["text"] == "cat\ndog water qqq"
    # A third of the query's mass has no need to move; the whole of it has: it is one word, and the document three.
    (word,) = explained["words"]
    assert {pair["document_word"]: pair["mass"] for pair in word["pairs"]} == pytest.approx(
        {"cat": 1 / 3, "dog": 1 / 3, "water": 1 / 3}, rel=0.05
    )


def test_an_index_of_ours_is_explained_by_a_search_of_the_engine_too(client: FlaskClient, ours: str) -> None:
    search = {"query": {"match": {"text.en": "cat"}}, "ext": {"rerank": {"language": "en", "details": True}}}
    hit = client.post(f"/{ours}/_search", json=search).get_json()["hits"]["hits"][0]
    explained = explain(client, index=ours, id=hit["_id"], search=search)
    assert explained["score_parts"] == hit["_rerank"]["score_parts"]
    assert explained["document"]["text"] == "cat dog"


def test_a_translated_search_shows_its_translations(client: FlaskClient, pets: str) -> None:
    search = {"query": {"match": {"name": "chat"}}, "ext": {"rerank": {"language": "fr"}}}
    explained = explain(client, index=pets, id="0", search=search)
    (translated,) = explained["translations"]
    assert translated["word"] == "chat"
    assert "cat" in {each["term"] for each in translated["translations"]}


def test_a_document_that_is_not_on_the_page_says_where_it_fell(
    client: FlaskClient, pets: str, engine: Engine, http: urllib3.PoolManager
) -> None:
    """The engine's own order and scores are what is compared with."""
    query = {"multi_match": {"query": "cat dog", "fields": ["name^2", "prose.body"]}}
    direct = post(http, f"{engine.url}/{pets}/_search", {"query": query, "size": 60}).json()["hits"]["hits"]
    scores = {hit["_id"]: hit["_score"] for hit in direct}

    def standing(doc_id: str, window_size: int, **more: Any) -> dict[str, Any]:
        search = {"query": query, "ext": {"rerank": {"language": "en", "window_size": window_size}}, **more}
        explained = explain(client, index=pets, id=doc_id, search=search)
        assert sum(explained["score_parts"].values()) == pytest.approx(explained["score"], abs=1e-6)
        found: dict[str, Any] = explained["standing"]
        return found

    last = direct[-1]["_id"]
    behind = standing(last, 20)
    assert (behind["fell_at"], behind["rank"], behind["n_candidates"]) == ("window", None, 20)
    assert behind["first_stage_rank"] == sum(score >= scores[last] for score in scores.values()) == len(direct)
    assert sum(behind["parts_behind"].values()) == pytest.approx(behind["score_behind"], abs=2e-6)
    assert behind["parts_behind"]["first_stage"] > 0

    nowhere = next(str(n) for n in range(60) if str(n) not in scores)
    lost = standing(nowhere, 20)
    assert (lost["fell_at"], lost["first_stage_rank"], lost["rank"]) == ("first_stage", None, None)
    assert lost["lacking_query_words"] == ["cat", "dog"]
    for window_size in (1, 20):
        hidden = standing(last, window_size, collapse={"field": "price"})  # behind another hit, as all have one price
        assert (hidden["fell_at"], hidden["first_stage_rank"], hidden["n_candidates"]) == ("first_stage", None, 1)
    held = standing(next(doc_id for doc_id in scores if "cat" not in str(PETS[int(doc_id)])), 60)
    assert held["lacking_query_words"] == ["cat"]

    page = post(http, f"{engine.url}/{pets}/_search", {"query": query, "size": 60, "_source": False}).json()["hits"][
        "hits"
    ]
    standings = {hit["_id"]: standing(hit["_id"], 60) for hit in page[:1] + page[-1:]}
    for doc_id, found in standings.items():
        assert found["first_stage_rank"] == [hit["_id"] for hit in page].index(doc_id) + 1
        assert found["n_candidates"] == len(page)
        assert (found["fell_at"] is None) == (found["rank"] <= 10) == (found["score_behind"] is None)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"query": "cat", "id": "nowhere"}, 404, "hold no document 'nowhere'"),
        ({"query": "zzz", "id": "0"}, 400, "keeps the engine's order (unknown_words)"),
        ({"query": "cat", "id": "0", "filters": {"price": 1}}, 400, "'filters' is for an index that Sinkrank made"),
        ({"query": "cat", "id": "0", "first_stage": "knn"}, 400, "'first_stage' is for an index that Sinkrank made"),
        ({"id": "0"}, 400, "'query' is missing"),
        ({"id": "0", "query": "cat", "search": text_search()}, 400, "'query' stands beside 'search'"),
        ({"id": "0", "search": {"query": {"match_all": {}}}}, 400, "(no_query_text)"),
        ({"id": "0", "search": {**text_search(), "sort": ["price"]}}, 400, "(sorted)"),
        ({"id": "0", "search": text_search(methd="emd")}, 400, "did you mean 'method'"),
        (
            {"id": "0", "search": text_search() | {"query": {"match": {"name": {"query": "cat", "operator": "not"}}}}},
            400,
            "send it as a search",
        ),
        ({"id": "0", "search": [1]}, 400, "'search'"),
    ],
)
def test_what_cannot_be_explained_says_why(
    client: FlaskClient, pets: str, body: dict[str, Any], status: int, words: str
) -> None:
    assert words in explain(client, status, index=pets, **body)["detail"]


def test_an_index_that_is_not_there_and_one_that_may_not_be_read_this_way(client: FlaskClient, foreign: str) -> None:
    assert "no index 'nowhere'" in explain(client, 404, index="nowhere", id="0", query="cat")["detail"]
    refused = explain(client, 404, index="nowhere", id="0", search={"query": {"match": {"n": "cat"}}})
    assert "the engine has no such index (404: index_not_found_exception: no such index [nowhere]" in refused["detail"]
    assert explain(client, index=foreign, id=str(WORDS.index("cat")), query="cat")["distance"] == pytest.approx(0)


def test_a_hit_without_a_known_word_has_nothing_to_explain(client: FlaskClient, foreign: str) -> None:
    answer = explain(client, 400, index=foreign, id=str(WORDS.index("zzz")), query="qqq cat", language="en")
    assert "no word with an embedding" in answer["detail"]
