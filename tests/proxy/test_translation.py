"""When a search is asked in translation, by what the engine receives; on a made-up engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.read import read_search
from reranker.service.service import EXTENSION
from reranker.upstream.calls import Deadline, Fallback
from tests.support.calls import outcomes
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.service import MakeProxy
from tests.support.tiny import POSITIONS, write_embeddings
from tests.support.waiting import PATIENCE_S

ENGLISH = ["dog", "cat", "bread"]
FRENCH_QUERY = {"query": {"match": {"body": "chat"}}}


def page(texts: list[str]) -> dict[str, Any]:
    hits = [
        {"_index": "pages", "_id": str(n), "_score": 1.0, "_source": {"body": text}} for n, text in enumerate(texts)
    ]
    total = {"value": len(texts), "relation": "eq"}
    return {"took": 1, "hits": {"total": total, "max_score": None, "hits": hits}}


def answer(received: Received) -> dict[str, Any]:
    """An engine of English texts: "cat" stands in every translated query here."""
    return page(ENGLISH if b"cat" in received.body else [])


@pytest.fixture
def opened(fake: FakeEngine, make_proxy: MakeProxy) -> Callable[..., FlaskClient]:
    fake.answer = lambda received: ok(json.dumps(answer(received)).encode())
    return lambda **settings: make_proxy(**settings).test_client()


@pytest.fixture
def client(opened: Callable[..., FlaskClient]) -> FlaskClient:
    return opened()


def search(client: FlaskClient, body: Any = FRENCH_QUERY, path: str = "/pages/_search", **section: Any) -> TestResponse:
    ext = {"ext": {"rerank": section}} if section else {}
    return client.post(path, json={**body, **ext})


def outcome(found: TestResponse) -> tuple[str, str | None]:
    assert found.status_code == 200, found.text
    return found.headers["X-Rerank-Status"], found.headers.get("X-Rerank-Reason")


def queries(fake: FakeEngine) -> list[Any]:
    return [json.loads(received.body)["query"] for received in fake.received]


def words(query: Any) -> set[str]:
    """The words that a query looks for."""
    if isinstance(query, list):
        return set().union(*map(words, query))
    if not isinstance(query, dict):
        return set()
    own = {value if isinstance(value, str) else value["query"] for value in query.get("match", {}).values()}
    return own.union(*map(words, query.values()))


def test_a_search_that_finds_nothing_is_asked_again_in_the_other_language(
    client: FlaskClient, fake: FakeEngine
) -> None:
    found = search(client)
    assert outcome(found) == ("applied", "translated")
    assert [hit["_source"]["body"] for hit in found.get_json()["hits"]["hits"]] == ["cat", "dog", "bread"]
    first, second = queries(fake)
    assert first == FRENCH_QUERY["query"]
    assert {"cat", "dog"} <= words(second)  # nearest to "chat"
    sizes = [json.loads(received.body)["size"] for received in fake.received]
    assert sizes[0] == sizes[1]


def test_a_search_that_finds_something_is_asked_once(client: FlaskClient, fake: FakeEngine) -> None:
    assert outcome(search(client, {"query": {"match": {"body": "cat"}}})) == ("applied", None)
    assert len(fake.received) == 1


def test_a_query_in_the_only_language_of_documents_is_not_translated_for_languages_of_queries_alone(
    fake: FakeEngine, make_proxy: MakeProxy, tmp_path: Path
) -> None:
    fake.answer = lambda received: ok(json.dumps(page([])).encode())
    client = make_proxy(write_embeddings(tmp_path / "both", POSITIONS, mapped_languages=["fr"])).test_client()
    assert outcome(search(client, {"query": {"match": {"body": "cat"}}})) == ("skipped", "no_hits")
    assert len(fake.received) == 1
    search(client, FRENCH_QUERY, translate=True)
    assert words(queries(fake)[-1]) == {"chat", "cat", "dog"}


def test_what_finds_nothing_even_so_is_not_marked_as_re_ranked(client: FlaskClient, fake: FakeEngine) -> None:
    fake.answer = lambda received: ok(json.dumps(page([])).encode())
    found = search(client)
    assert outcome(found) == ("skipped", "no_hits")
    assert found.get_json()["hits"] == page([])["hits"]
    assert len(fake.received) == 2


@pytest.mark.parametrize(
    ("settings", "section"),
    [
        ({"proxy_translate": "never"}, {}),
        ({}, {"translate": False}),
        ({"proxy_translate": "always"}, {"translate": False, "languages": ["en"]}),
        ({}, {"languages": ["fr"]}),  # the query's own
    ],
)
def test_nobody_is_asked_again_where_it_is_switched_off(
    fake: FakeEngine, opened: Callable[..., FlaskClient], settings: dict[str, Any], section: dict[str, Any]
) -> None:
    assert outcome(search(opened(**settings), **section)) == ("skipped", "no_hits")
    assert len(fake.received) == 1


def test_who_names_the_languages_of_the_documents_is_answered_in_them_at_once(
    client: FlaskClient, fake: FakeEngine
) -> None:
    assert outcome(search(client, languages=["en"])) == ("applied", "translated")
    (only,) = queries(fake)
    assert "cat" in words(only)
    fake.received.clear()
    english = {"query": {"match": {"body": "cat"}}}
    assert outcome(search(client, english, languages=["en", "fr"])) == ("applied", None)
    assert queries(fake) == [english["query"]]


def test_languages_that_the_embeddings_do_not_hold_are_refused(client: FlaskClient) -> None:
    found = search(client, languages=["fi"])
    assert found.status_code == 400
    assert "the embeddings hold en, fr" in found.text


def learned(client: FlaskClient, *languages: str) -> None:
    """As if a sample of the index had been read."""
    proxy: Proxy = client.application.extensions[PROXY_EXTENSION]
    shares = {language: 1 / len(languages) for language in languages}
    proxy.ranking.statistics.languages = lambda index, fields=(): shares  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("languages", "expected", "n_requests"),
    [(["en"], ("applied", "translated"), 1), (["en", "fr"], ("skipped", "no_hits"), 1)],
)
def test_always_is_where_the_index_holds_nothing_in_the_querys_language(
    fake: FakeEngine,
    opened: Callable[..., FlaskClient],
    languages: list[str],
    expected: tuple[str, str],
    n_requests: int,
) -> None:
    client = opened(proxy_translate="always")
    learned(client, *languages)
    assert outcome(search(client)) == expected
    assert len(fake.received) == n_requests


def test_until_the_languages_of_an_index_are_known_always_waits_for_a_search_that_finds_nothing(
    client: FlaskClient, fake: FakeEngine
) -> None:
    assert outcome(search(client, translate=True)) == ("applied", "translated")
    assert [bool({"cat"} & words(query)) for query in queries(fake)] == [False, True]


def test_details_show_the_groups(client: FlaskClient) -> None:
    found = search(client, details=True).get_json()["hits"]["hits"][0]["_rerank"]["translations"]
    assert list(found) == ["en"]
    assert list(found["en"]) == ["chat"]
    weights = found["en"]["chat"]
    assert 0 < weights["dog"] < weights["cat"] <= 1
    plain = search(client, {"query": {"match": {"body": "cat"}}}, details=True).get_json()["hits"]["hits"][0]
    assert "translations" not in plain["_rerank"]


def test_the_query_of_the_url_is_translated_in_the_body(client: FlaskClient, fake: FakeEngine) -> None:
    found = client.get("/pages/_search?q=chat&df=body&default_operator=AND&preference=me&_source=body")
    assert outcome(found) == ("applied", "translated")
    first, second = fake.received
    assert "q=chat" in first.line
    assert "q=" not in second.line
    assert "df=" not in second.line
    assert "preference=me" in second.line
    assert "cat" in second.body.decode()


def test_filters_and_everything_beside_the_query_stay(client: FlaskClient, fake: FakeEngine) -> None:
    body = {
        "query": {"bool": {"must": [{"match": {"body": "chat"}}], "filter": [{"term": {"kind": "chat"}}]}},
        "aggs": {"kinds": {"terms": {"field": "kind"}}},
        "highlight": {"fields": {"body": {}}},
    }
    assert outcome(search(client, body)) == ("applied", "translated")
    first, second = (json.loads(received.body) for received in fake.received)
    assert {name: value for name, value in second.items() if name != "query"} == {
        name: value for name, value in first.items() if name != "query"
    }
    assert second["query"]["bool"]["filter"] == body["query"]["bool"]["filter"]


def failing(status: bytes) -> Callable[[Received], bytes]:
    def respond(received: Received) -> bytes:
        if b"cat" in received.body:
            return b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        return ok(json.dumps(page([])).encode())

    return respond


@pytest.mark.parametrize("status", [b"400 Bad Request", b"503 Busy"])
def test_a_translated_search_that_the_engine_refuses_leaves_the_first_answer(
    client: FlaskClient, fake: FakeEngine, status: bytes
) -> None:
    fake.answer = failing(status)
    found = search(client)
    assert outcome(found) == ("fallback", "engine_refused")
    assert found.get_json()["hits"] == page([])["hits"]


def partial(n_lacking: int = 0) -> dict[str, Any]:
    """What is found in some of the shards, of which the answer may count more than it holds."""
    found = page(ENGLISH)
    found["hits"]["total"]["value"] += n_lacking
    failures = [
        {"shard": 0, "index": "wide", "reason": {"type": "too_many_nested_clauses", "reason": "maxClauseCount"}}
    ]
    return found | {"_shards": {"total": 5, "successful": 2, "failed": 3, "failures": failures}}


@pytest.mark.parametrize("n_lacking", [0, 4])
def test_a_translated_search_that_fails_on_some_shards_leaves_the_first_answer(
    client: FlaskClient, fake: FakeEngine, n_lacking: int
) -> None:
    """It may have more clauses than the engine takes of an index with many fields."""

    fake.answer = lambda received: ok(json.dumps(partial(n_lacking) if b"cat" in received.body else page([])).encode())
    found = search(client)
    assert outcome(found) == ("skipped", "no_hits")
    assert {**found.get_json(), "took": 1} == page([])
    assert len(fake.received) == 2


def test_a_search_in_translation_at_once_that_fails_on_some_shards_is_the_engines(
    client: FlaskClient, fake: FakeEngine
) -> None:
    fake.answer = lambda received: ok(json.dumps(partial() if b"cat" in received.body else page(ENGLISH)).encode())
    found = search(client, languages=["en"])
    assert outcome(found) == ("fallback", "engine_refused")
    assert found.get_json() == page(ENGLISH)
    assert ["cat" in words(query) for query in queries(fake)] == [True, False]


def test_a_query_in_the_url_is_asked_as_it_came_where_its_translation_is_refused(
    client: FlaskClient, fake: FakeEngine
) -> None:
    fake.answer = lambda received: ok(json.dumps(partial() if b"cat" in received.body else page(ENGLISH)).encode())
    found = client.post("/pages/_search?q=chat&df=body", json={"ext": {"rerank": {"languages": ["en"]}}})
    assert outcome(found) == ("fallback", "engine_refused")
    assert found.get_json() == page(ENGLISH)
    assert [("q=chat" in received.line, b"cat" in received.body) for received in fake.received] == [
        (False, True),
        (True, False),
    ]


def test_a_lost_shard_does_not_end_translation(client: FlaskClient, fake: FakeEngine) -> None:
    lost = {"shard": 0, "index": "pages", "reason": {"type": "no_shard_available_action_exception"}}
    shards = {"_shards": {"total": 5, "successful": 4, "failed": 1, "failures": [lost]}}
    fake.answer = lambda received: ok(json.dumps(page(ENGLISH if b"cat" in received.body else []) | shards).encode())
    assert outcome(search(client)) == ("applied", "translated")


def test_nothing_is_asked_again_once_the_time_is_over(fake: FakeEngine, opened: Callable[..., FlaskClient]) -> None:
    assert outcome(search(opened(proxy_budget_ms=1))) == ("fallback", "out_of_time")
    assert len(fake.received) == 1


def test_translations_that_take_too_long_do_not_stop_the_re_ranking_of_other_searches(
    opened: Callable[..., FlaskClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, client = threading.Event(), opened(proxy_budget_ms=1_000)
    proxy: Proxy = client.application.extensions[PROXY_EXTENSION]
    proxy.breaker.n_failures = 1
    monkeypatch.setattr(proxy.ranking.translator, "when_nothing_is_found", lambda *_: may_end.wait(PATIENCE_S))
    assert outcome(search(client)) == ("fallback", "out_of_time")
    assert proxy.breaker.state == "closed"
    may_end.set()


def test_nothing_is_translated_once_the_time_is_over(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    app = client.application
    translator = app.extensions[PROXY_EXTENSION].ranking.translator
    read = read_search(app.extensions[EXTENSION], {}, json.dumps(FRENCH_QUERY).encode(), indices=("pages",))
    wanted = replace(read, translate="always", languages=("en",))
    assert translator.at_once(wanted, Deadline(1, lambda: 0)) is not None
    monkeypatch.setattr(translator._of_others, "groups_of", lambda *_: pytest.fail("translated"))
    with pytest.raises(Fallback) as ended:
        translator.at_once(wanted, Deadline(1, lambda: 1))
    assert ended.value.reason == "out_of_time"


def test_1000_words_are_translated_of_all_texts_of_a_search(client: FlaskClient, fake: FakeEngine) -> None:
    texts = [{"match": {"body": f"zzz{n} " * 499 + "chat"}} for n in range(3)]
    search(client, {"query": {"bool": {"should": texts}}})
    translated = queries(fake)[1]["bool"]["should"]
    assert [one == text for one, text in zip(translated, texts, strict=True)] == [False, False, True]


@pytest.mark.parametrize(
    ("offset", "total", "n_requests"), [(0, None, 2), (0, 0, 2), (200, {"value": 0}, 2), (200, None, 1), (200, 7, 1)]
)
def test_an_empty_page_is_a_search_that_found_nothing_only_where_that_is_sure(
    client: FlaskClient, fake: FakeEngine, offset: int, total: Any, n_requests: int
) -> None:
    hits = {"max_score": None, "hits": [], **({} if total is None else {"total": total})}
    fake.answer = lambda received: ok(json.dumps({"took": 1, "hits": hits}).encode())
    assert outcome(search(client, {**FRENCH_QUERY, "from": offset}))[0] == "skipped"
    assert len(fake.received) == n_requests


def lines(*bodies: Any) -> bytes:
    return b"".join(b"{}\n" + json.dumps(body).encode() + b"\n" for body in bodies)


@pytest.mark.parametrize(
    "path", ["/pages/_search", "/pages/_search?q=chat&df=body&rerank=true&filter_path=hits", "/pages/_msearch"]
)
def test_a_walk_behind_the_window_goes_on_in_translation(client: FlaskClient, fake: FakeEngine, path: str) -> None:
    cursor = {"sort": ["_score", "id"], "search_after": [0.1, "9"], "size": 2}
    body = {**FRENCH_QUERY, **cursor, "ext": {"rerank": {}, "other": 1}}
    if path.endswith("_msearch"):
        fake.answer = lambda received: ok(json.dumps({"took": 1, "responses": [answer(received)]}).encode())
        found = client.post(path, data=f"{{}}\n{json.dumps(body)}\n", content_type="application/x-ndjson")
        (hits,) = (one["hits"]["hits"] for one in found.get_json()["responses"])
    else:
        found = client.post(path, json=body)
        hits = found.get_json()["hits"]["hits"]
    assert outcome(found) == ("skipped", "search_after")
    assert [hit["_source"]["body"] for hit in hits] == ENGLISH  # the engine's page, as it is
    last = json.loads(fake.received[-1].body.splitlines()[-1])
    assert "cat" in json.dumps(last.pop("query"))
    assert last == {**cursor, "ext": {"other": 1}}
    assert "q=" not in fake.received[-1].line


def test_lines_of_a_multi_search_are_asked_again_together(client: FlaskClient, fake: FakeEngine) -> None:
    def respond(received: Received) -> bytes:
        bodies = received.body.split(b"\n")[1::2]
        found = [page(ENGLISH if b"cat" in body else []) for body in bodies if body]
        return ok(json.dumps({"took": 1, "responses": [{**one, "status": 200} for one in found]}).encode())

    fake.answer = respond
    body = lines(
        FRENCH_QUERY,
        {"query": {"match": {"body": "cat"}}},
        {"query": {"match": {"body": "pain"}}, "ext": {"rerank": {"translate": False}}},
        {**FRENCH_QUERY, "size": 1},
    )
    found = client.post("/pages/_msearch", data=body, content_type="application/x-ndjson")
    assert outcome(found) == ("applied", "applied=1, no_hits=1, translated=2")
    responses = found.get_json()["responses"]
    assert [len(one["hits"]["hits"]) for one in responses] == [3, 3, 0, 1]
    assert responses[3]["hits"]["hits"][0]["_source"]["body"] == "cat"
    assert [len(received.body.split(b"\n")) // 2 for received in fake.received] == [4, 2]


def test_a_line_of_a_multi_search_that_is_refused_in_translation_leaves_the_others_translated(
    client: FlaskClient, fake: FakeEngine
) -> None:
    refused = [partial(), {"error": {"type": "too_many_nested_clauses"}, "status": 400}]

    def respond(received: Received) -> bytes:
        is_first = b"cat" not in received.body
        found = [page([])] * 3 if is_first else [page(ENGLISH), *refused]
        return ok(json.dumps({"took": 1, "responses": [{"status": 200, **one} for one in found]}).encode())

    fake.answer = respond
    found = client.post("/pages/_msearch", data=lines(*[FRENCH_QUERY] * 3), content_type="application/x-ndjson")
    assert outcome(found) == ("applied", "no_hits=2, translated=1")
    assert [len(one["hits"]["hits"]) for one in found.get_json()["responses"]] == [3, 0, 0]
    assert len(fake.received) == 2


def test_translated_searches_are_counted_by_themselves(client: FlaskClient) -> None:
    search(client)
    search(client, {"query": {"match": {"body": "cat"}}})
    assert outcomes(client.application) == {"applied": 1, "applied/translated": 1}
