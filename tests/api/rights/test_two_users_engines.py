"""Each caller sees through every route what the engine shows him, whatever others have asked before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from ingest.staleness import stale_parts
from reranker.api.app import create_app
from reranker.base.errors import StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.proxy.window_kinds import SEQUENCE_NUMBERS, STORED_BAGS, WindowKinds
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from reranker.upstream.access import EngineAccess
from sinkrank.console.resources import opened_store
from tests.api.rights.conftest import MakeApp
from tests.support.engines.security import SecuredNode, authorization

# As the roles of tests/support/engines/security.py say.
SHOWN = {"anna": {"red", "all", "chat"}, "ben": {"blue", "all", "chat"}, "service": {"red", "blue", "all", "chat"}}
SECRETS = ("redsecret", "bluesecret")
MAY_READ = {"anna": {"redsecret"}, "ben": set(), "service": set(SECRETS)}
USERS = pytest.mark.parametrize("user", ["anna", "ben", "service"])

CAT = {"query": "cat", "language": "en", "index": "notes"}


@pytest.fixture
def client(make_app: MakeApp) -> FlaskClient:
    return make_app().test_client()


def ask(client: FlaskClient, user: str | None, path: str, **body: Any) -> TestResponse:
    return client.post(path, json=body, headers=authorization(user) if user else {})


def shown(answer: TestResponse) -> dict[str, dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return {hit["id"]: hit for hit in answer.get_json()["hits"]}


def secrets_in(answer: TestResponse) -> set[str]:
    return {secret for secret in SECRETS if secret in answer.text}


@USERS
@pytest.mark.parametrize("first_stage", ["knn", "hybrid"])
def test_a_search_finds_the_documents_that_the_user_may_see(client: FlaskClient, user: str, first_stage: str) -> None:
    answer = ask(client, user, "/v1/search", **CAT, first_stage=first_stage)
    assert shown(answer).keys() == SHOWN[user]
    assert secrets_in(answer) == MAY_READ[user]


@pytest.mark.parametrize("first_stage", ["bm25", "translated"])
def test_words_of_hidden_documents_and_fields_find_nothing(client: FlaskClient, first_stage: str) -> None:
    for user in ("anna", "ben"):
        asked = {**CAT, "query": "cat bluesecret", "first_stage": first_stage}
        assert "blue" not in shown(ask(client, user, "/v1/search", **asked))
    assert shown(ask(client, "ben", "/v1/search", **CAT, first_stage=first_stage)) == {}


def test_fields_that_are_hidden_are_empty_in_hits(client: FlaskClient) -> None:
    hit = shown(ask(client, "ben", "/v1/search", **CAT, first_stage="knn"))["all"]
    assert (hit["title"], hit["text"], hit["url"], hit["metadata"]) == ("", "", "", {"team": "all"})
    assert hit["without_known_word"]
    assert hit["distance"] is None
    hit = shown(ask(client, "anna", "/v1/search", **CAT, first_stage="knn"))["all"]
    assert (hit["title"], hit["text"], hit["url"]) == ("A cat", "cat bread", "https://e.org/all")


@pytest.mark.parametrize("in_turn", [("service", "anna", "ben"), ("ben", "anna", "service")])
def test_no_cache_shows_a_user_what_another_has_seen(make_app: MakeApp, in_turn: tuple[str, ...]) -> None:
    """Every user is answered as by a service that nobody else has asked."""
    paths = {"/v1/search": {**CAT, "first_stage": "knn"}, "/press/_search": PRESS, "/notes/_search": NOTES}
    shared = make_app().test_client()
    for path, body in paths.items():
        for user in in_turn:
            found = ask(shared, user, path, **body).get_json()["hits"]
            assert found == ask(make_app().test_client(), user, path, **body).get_json()["hits"]


@pytest.mark.parametrize(
    ("user", "doc_id", "status"),
    [("anna", "red", 200), ("anna", "blue", 404), ("ben", "red", 404), ("ben", "blue", 400), ("service", "blue", 200)],
)
def test_an_explanation_is_of_what_the_user_may_see(client: FlaskClient, user: str, doc_id: str, status: int) -> None:
    """Ben may see the document but no word of it."""
    for asked_before in ("service", user):
        answer = ask(client, asked_before, "/v1/explain", **CAT, id=doc_id)
    assert answer.status_code == status
    assert secrets_in(answer) == ({f"{doc_id}secret"} if status == 200 else set())
    if status == 404:
        assert answer.get_json() == ask(client, user, "/v1/explain", **CAT, id=doc_id).get_json()


def test_a_hidden_document_is_answered_as_one_that_is_not_there(client: FlaskClient) -> None:
    hidden = ask(client, "anna", "/v1/explain", **CAT, id="blue").get_json()
    missing = ask(client, "anna", "/v1/explain", **CAT, id="grey").get_json()
    assert hidden["detail"].replace("blue", "grey") == missing["detail"]


PRESS = {
    "query": {"match_all": {}},
    "ext": {"rerank": {"query_context": {"query_text": "cat"}, "language": "en", "details": True}},
}
NOTES = PRESS


@USERS
@pytest.mark.parametrize("index", ["notes", "press"])
def test_the_proxy_shows_what_the_engine_shows(
    client: FlaskClient, secured_node: SecuredNode, user: str, index: str
) -> None:
    for asked_before in ("service", user):
        answer = ask(client, asked_before, f"/{index}/_search", **PRESS)
    found = {hit["_id"]: hit["_source"] for hit in answer.get_json()["hits"]["hits"]}
    _, own = secured_node.request("POST", f"/{index}/_search", user, {"query": {"match_all": {}}})
    assert found == {hit["_id"]: hit["_source"] for hit in own["hits"]["hits"]}
    assert found.keys() == SHOWN[user]
    assert secrets_in(answer) == MAY_READ[user]
    assert answer.headers["X-Rerank-Status"] == ("fallback" if user == "ben" else "applied")


@USERS
@pytest.mark.parametrize(("index", "kind"), [("notes", STORED_BAGS), ("press", SEQUENCE_NUMBERS)])
def test_windows_without_their_text_show_what_the_engine_shows(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, user: str, index: str, kind: str
) -> None:
    kinds: list[str | None] = []
    chosen = WindowKinds.kind_for

    def kind_for(own: WindowKinds, *arguments: Any) -> str | None:
        kinds.append(chosen(own, *arguments))
        return kinds[-1]

    monkeypatch.setattr(WindowKinds, "kind_for", kind_for)
    for _ in range(6):
        for asked_before in ("service", "anna", "ben", user):
            ask(client, asked_before, f"/{index}/_search", **PRESS, size=1)
    assert kind in kinds
    pages = [ask(client, user, f"/{index}/_search", **PRESS, size=1, **{"from": n}) for n in range(5)]
    found = [hit for page in pages for hit in page.get_json()["hits"]["hits"]]
    assert {hit["_id"] for hit in found} == SHOWN[user]
    assert len(found) == len(SHOWN[user])
    assert {secret for page in pages for secret in secrets_in(page)} == MAY_READ[user]
    assert {page.headers["X-Rerank-Status"] for page in pages[:-1]} <= (
        {"fallback", "skipped"} if user == "ben" else {"applied", "skipped"}
    )


def test_texts_that_are_looked_up_for_one_user_rank_nothing_for_another(client: FlaskClient) -> None:
    """Hits without `_source` are looked up once more, with the caller's rights, and their words are kept."""
    blind = {**PRESS, "_source": False}
    assert ask(client, "service", "/press/_search", **blind).headers["X-Rerank-Status"] == "applied"
    answer = ask(client, "ben", "/press/_search", **blind)
    assert answer.headers["X-Rerank-Reason"] == "no_text_in_hits"


@USERS
def test_a_multi_search_shows_what_the_engine_shows(client: FlaskClient, user: str) -> None:
    lines = [json.dumps(line) for index in ("notes", "press") for line in ({"index": index}, PRESS)]
    answer = client.post(
        "/_msearch",
        data="\n".join([*lines, ""]),
        content_type="application/x-ndjson",
        headers=authorization(user),
    )
    for found in answer.get_json()["responses"]:
        assert {hit["_id"] for hit in found["hits"]["hits"]} == SHOWN[user]
    assert secrets_in(answer) == MAY_READ[user]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
@pytest.mark.parametrize(
    ("user", "status"), [("anna", 200), ("ben", 200), ("carla", 403), ("nobody", 401), (None, 401)]
)
def test_the_figures_of_an_index_are_for_those_who_may_read_it(
    client: FlaskClient, path: str, user: str | None, status: int
) -> None:
    texts = {"query": "cat", "index": "notes", "texts" if path == "/rerank" else "documents": ["cat", "dog"]}
    assert ask(client, user, path, **texts).status_code == status


@pytest.mark.parametrize("path", ["/v1/search", "/v1/explain"])
@pytest.mark.parametrize(("user", "status"), [("carla", 403), ("nobody", 401), (None, 401)])
def test_the_engines_refusal_is_the_answer(client: FlaskClient, path: str, user: str | None, status: int) -> None:
    body = CAT | ({"id": "all"} if path == "/v1/explain" else {})
    answer = ask(client, user, path, **body)
    assert answer.status_code == status
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    reason = {"carla": "no permissions for", "nobody": "Unauthorized", None: "callers_without_credentials"}
    assert reason[user] in answer.get_json()["detail"]


def test_a_scheme_that_cannot_be_passed_on_is_refused(client: FlaskClient) -> None:
    answer = client.post("/v1/search", json=CAT, headers={"Authorization": "Negotiate YII="})
    assert answer.status_code == 401
    assert "Basic, Bearer or ApiKey" in answer.get_json()["detail"]


def test_what_reads_no_index_needs_no_credentials(client: FlaskClient) -> None:
    assert ask(client, None, "/v1/rerank", query="cat", documents=["cat"]).status_code == 200
    assert ask(client, None, "/v1/matches", query="cat", texts=["a cat"]).status_code == 200
    assert client.get("/-/ready").status_code == 200
    assert "notes" in client.get("/-/ui").text


def test_the_services_rights_are_lent_where_the_setting_says_so(make_app: MakeApp) -> None:
    client = make_app(callers_without_credentials="service_rights").test_client()
    assert shown(ask(client, None, "/v1/search", **CAT, first_stage="knn")).keys() == SHOWN["service"]
    assert shown(ask(client, "anna", "/v1/search", **CAT, first_stage="knn")).keys() == SHOWN["anna"]
    assert ask(client, "nobody", "/v1/search", **CAT).status_code == 401


@pytest.mark.parametrize(("rule", "is_shown"), [("refuse", False), ("service_rights", True)])
def test_the_page_offers_titles_only_where_strangers_may_read_them(
    secured_store: Store, writing: dict[str, Any], embeddings: Embeddings, tmp_path: Path, rule: str, is_shown: bool
) -> None:
    settings = Settings(**{"home": tmp_path, **writing, "callers_without_credentials": rule})
    with opened_store(settings) as store:
        client = create_app(settings, store, embeddings).test_client()
        examples = client.get("/-/ui/examples", query_string={"index": "notes"}).text
        page = client.get("/-/ui").text
    assert ("A red cat" in examples) == is_shown
    assert "A red cat" not in page


@pytest.mark.parametrize("user", ["anna", "service"])
def test_a_version_of_an_index_cannot_be_asked_by_its_name(client: FlaskClient, user: str) -> None:
    old = {**CAT, "index": "notes-000001"}
    for path, body in (
        ("/v1/search", old),
        ("/v1/explain", old | {"id": "all"}),
        ("/v1/rerank", {"query": "cat", "index": "notes-000001", "documents": ["cat"]}),
    ):
        answer = ask(client, user, path, **body)
        assert answer.status_code == 400
        assert "a version of the index 'notes'" in answer.text


def test_an_index_is_checked_with_no_more_rights_than_a_search_needs(
    access: dict[str, Any], secured_store: Store, embeddings: Embeddings
) -> None:
    """Its documents were weighted before there were document frequencies."""
    with opened_store(Settings(**access)) as store:
        found = list(stale_parts(store, "notes", embeddings, secured_store.open("notes").idf()))
    assert [one.partition(";")[0] for one in found] == ["some documents are weighted with older document frequencies"]


def test_a_node_that_demands_a_certificate_answers_no_service_without(
    make_app: MakeApp, secured_node: SecuredNode
) -> None:
    app: Flask = make_app(store_client_cert=None, store_client_key=None)
    assert app.test_client().get("/", headers=authorization("service")).status_code == 502
    access = EngineAccess(ca_certs=secured_node.ca)
    store = open_store(secured_node.url, username="service", password="service-secret", access=access)
    with pytest.raises(StoreUnavailable):
        store.indices()
    store.close()
