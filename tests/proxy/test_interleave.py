"""`proxy_mode = interleave`: pages of both orders, and clicks that decide between them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from reranker.traffic.file import TrafficFile
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.service import MakeProxy

# The engine's order; ours of `cat` begins with the cats.
TEXTS = ["bread", "water", "car", "cat cat", "cat", "dog"] * 4


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each hour searches get other ids."""
    monkeypatch.setattr("reranker.proxy.interleave.time", SimpleNamespace(time=lambda: 0.0))


@pytest.fixture
def client(fake: FakeEngine, make_proxy: MakeProxy) -> FlaskClient:
    def answer(received: Received) -> bytes:
        hits = [
            {"_index": "pages", "_id": f"d{n}", "_score": 9.0, "_source": {"body": text}}
            for n, text in enumerate(TEXTS)
        ]
        one: dict[str, Any] = {"took": 1, "hits": {"max_score": 9.0, "hits": hits}, "ext": {"other": {"kept": 1}}}
        if "_msearch" in received.line:
            one = {"took": 1, "responses": [one] * (received.body.count(b"\n") // 2)}
        return ok(json.dumps(one).encode())

    fake.answer = answer
    return make_proxy(proxy_mode="interleave").test_client()


def search(client: FlaskClient, word: str = "cat", headers: Any = None, **body: Any) -> TestResponse:
    query = {"query": {"match": {"body": word}}, **body}
    answer = client.post("/pages/_search", json=query, headers=headers)
    assert answer.headers["X-Rerank-Status"] == "applied", answer.text
    return answer


def ids(answer: TestResponse) -> list[str]:
    return [hit["_id"] for hit in answer.get_json()["hits"]["hits"]]


def orders(client: FlaskClient, word: str) -> tuple[list[str], list[str]]:
    """The first hits of the engine and of ours, by details of a whole page."""
    section = {"rerank": {"details": True}}
    page = search(client, word, size=len(TEXTS), ext=section).get_json()["hits"]["hits"]
    by_engine = sorted(page, key=lambda hit: hit["_rerank"]["first_stage_rank"])
    ours = sorted(page, key=lambda hit: -sum(hit["_rerank"]["score_parts"].values()))
    return [hit["_id"] for hit in by_engine], [hit["_id"] for hit in ours]


def test_a_page_holds_the_best_of_both_and_says_which_is_whose(client: FlaskClient) -> None:
    by_engine, ours = orders(client, "cat")
    answer = search(client, size=6)
    ext = answer.get_json()["ext"]
    teams = ext["rerank"]["teams"]
    assert answer.headers["X-Rerank-Teams"].split(",") == teams
    assert answer.headers["X-Rerank-Search-Id"] == ext["rerank"]["search_id"]
    assert ext["other"] == {"kept": 1}
    shown = ids(answer)
    for team, order in (("ours", ours), ("engine", by_engine)):
        picked = [doc_id for doc_id, of_team in zip(shown, teams, strict=True) if of_team == team]
        assert len(picked) == 3
        rest = [doc_id for doc_id in order if doc_id in picked or doc_id not in shown]
        assert rest[:3] == picked  # each order's best that the other had not picked


def test_what_is_left_out_is_so_in_both_orders(client: FlaskClient) -> None:
    page = search(client, size=len(TEXTS), ext={"rerank": {"details": True}}).get_json()["hits"]["hits"]
    relevance = {hit["_id"]: hit["_rerank"]["relevance"] for hit in page}
    cats = [f"d{n}" for n, text in enumerate(TEXTS) if "cat" in text]
    least = min(relevance[doc_id] for doc_id in cats)
    assert [doc_id for doc_id, value in relevance.items() if value >= least and doc_id not in cats] == []
    answer = search(client, size=len(TEXTS), ext={"rerank": {"min_relevance": least}})
    said = answer.get_json()["ext"]["rerank"]
    assert sorted(ids(answer)) == sorted(cats)
    assert (len(said["teams"]), said["n_cut"], said["no_good_answer"]) == (8, 16, False)


def test_a_search_that_asks_for_details_has_our_order_and_is_no_vote(client: FlaskClient, tmp_path: Path) -> None:
    """The page asks so: what it shows as ours is ours, and what it asks is no live search."""
    _, ours = orders(client, "cat")
    answer = search(client, size=len(TEXTS), ext={"rerank": {"details": True}})
    assert ids(answer) == ours
    assert "X-Rerank-Search-Id" not in answer.headers
    assert "search_id" not in answer.get_json()["ext"]["rerank"]
    assert not (tmp_path / "traffic.sqlite3").exists() or TrafficFile(tmp_path).report().interleaved is None


def test_scores_never_rise(client: FlaskClient) -> None:
    hits = search(client, size=len(TEXTS)).get_json()["hits"]
    scores = [hit["_score"] for hit in hits["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert hits["max_score"] == scores[0]


def test_pages_of_one_search_fit_together(client: FlaskClient) -> None:
    whole = search(client, size=12)
    pages = [search(client, size=4, **{"from": offset}) for offset in (0, 4, 8)]
    assert [doc_id for page in pages for doc_id in ids(page)] == ids(whole)
    assert len({page.headers["X-Rerank-Search-Id"] for page in [whole, *pages]}) == 1


def test_a_search_is_known_by_what_decides_its_window(client: FlaskClient) -> None:
    query = {"bool": {"must": {"match": {"body": "cat"}}}}

    def search_id(parameters: str = "", **body: Any) -> str:
        answer = client.post(f"/pages/_search{parameters}", json={"query": query, **body})
        assert answer.headers["X-Rerank-Status"] == "applied", answer.text
        return answer.headers["X-Rerank-Search-Id"]

    known = search_id()
    shown: list[dict[str, Any]] = [
        {"from": 4, "size": 4},
        {"_source": ["body"], "highlight": {"fields": {"body": {}}}},
        {"aggs": {"n": {"value_count": {"field": "n"}}}, "track_total_hits": True},
        {"ext": {"ubi": {"query_id": "q-2"}, "rerank": {"highlight": "engine"}}},
    ]
    assert {search_id(**body) for body in shown} == {known}
    assert search_id("?size=3&_source_includes=body&pretty") == known
    filtered = {"bool": {**query["bool"], "filter": {"term": {"kind": "pet"}}}}
    others: list[dict[str, Any]] = [
        {"query": filtered},
        {"post_filter": {"term": {"kind": "pet"}}},
        {"sort": ["_score", "n"]},
        {"min_score": 1.0},
        {"ext": {"rerank": {"window_size": 5}}},
    ]
    ids = {search_id(**body) for body in others} | {search_id("?routing=a"), known}
    assert len(ids) == len(others) + 2


def test_whether_there_is_a_good_answer_is_not_left_to_a_coin(client: FlaskClient) -> None:
    """Our first hit is one; that of the engine is not."""
    said = []
    for n in range(20):
        answer = search(client, headers={"X-Forwarded-For": f"10.0.0.{n}"}, ext={"rerank": {"min_relevance": 0}})
        said.append(answer.get_json()["ext"]["rerank"]["no_good_answer"])
    assert said == [False] * 20


def test_an_id_with_half_a_surrogate_pair_is_none(client: FlaskClient, tmp_path: Path) -> None:
    body = b'{"query": {"match": {"body": "cat"}}, "ext": {"ubi": {"query_id": "q\\ud800"}}}'
    answer = client.post("/pages/_search", data=body, content_type="application/json")
    assert answer.headers["X-Rerank-Status"] == "applied"
    search(client, "dog", ext={"ubi": {"query_id": "q-é"}})
    assert list(TrafficFile(tmp_path).query_ids()) == ["q-é"]


def test_other_callers_see_other_pages(client: FlaskClient) -> None:
    seen = {tuple(ids(search(client, headers={"X-Forwarded-For": f"10.0.0.{n}"}))) for n in range(20)}
    assert len(seen) > 5


def test_a_multi_search_says_it_in_each_answer(client: FlaskClient) -> None:
    line = json.dumps({"query": {"match": {"body": "cat"}}, "size": 3})
    body = f'{{"index":"pages"}}\n{line}\n{{"index":"pages"}}\n{line}\n'
    answer = client.post("/_msearch", data=body, content_type="application/x-ndjson")
    found = [one["ext"]["rerank"] for one in answer.get_json()["responses"]]
    assert [len(one["teams"]) for one in found] == [3, 3]
    assert "X-Rerank-Teams" not in answer.headers


def test_clicks_decide(client: FlaskClient) -> None:
    answer = search(client, size=6, ext={"ubi": {"query_id": "q-1"}})
    teams, search_id = answer.headers["X-Rerank-Teams"].split(","), answer.headers["X-Rerank-Search-Id"]
    ours = ids(answer)[teams.index("ours")]
    clicks = [{"search_id": search_id, "id": ours}, {"search_id": search_id, "id": "not shown"}]
    recorded = client.post("/v1/clicks", json={"clicks": clicks})
    assert recorded.get_json() == {"n_recorded": 1, "n_unknown": 1}
    votes = client.get("/v1/traffic").get_json()["interleaved"]
    assert (votes["n_searches"], votes["wins"], votes["losses"], votes["ties"]) == (1, 1, 0, 0)


def test_a_search_id_of_user_behavior_insights_is_recorded(client: FlaskClient, tmp_path: Path) -> None:
    answer = search(client, ext={"ubi": {"query_id": "q-1"}})
    assert TrafficFile(tmp_path).query_ids() == {"q-1": answer.headers["X-Rerank-Search-Id"]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"clicks": []}, "clicks"),
        ({"clicks": [{"search_id": "a"}]}, "id"),
        ({"clicks": [{"search_id": "a", "id": 5}]}, "id"),
        ({}, "clicks"),
    ],
)
def test_wrong_clicks_are_refused(client: FlaskClient, body: Any, message: str) -> None:
    answer = client.post("/v1/clicks", json=body)
    assert answer.status_code == 400
    assert message in answer.get_json()["detail"]


def test_a_service_that_records_nothing_has_no_clicks(make_proxy: MakeProxy) -> None:
    answer = make_proxy().test_client().post("/v1/clicks", json={"clicks": [{"search_id": "a", "id": "b"}]})
    assert answer.status_code == 404
    assert "sinkrank serve --proxy-mode shadow" in answer.get_json()["detail"]


def test_a_file_that_cannot_be_written_fails_no_search(client: FlaskClient, tmp_path: Path) -> None:
    TrafficFile(tmp_path).path.write_text("no database any more" * 100)
    assert len(ids(search(client))) == 10
