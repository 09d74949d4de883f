"""`_rerank`: what each hit says of its place where `details` asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from flask.testing import FlaskClient

from reranker.embeddings.query_encoder import Vector
from reranker.proxy.hit_texts import HitTexts
from reranker.proxy.indices import Indices, Weighed
from reranker.proxy.search import Search
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.query_encoder import encoding_embeddings
from tests.support.service import MakeProxy
from tests.support.tiny import write_embeddings
from tests.support.waiting import PATIENCE_S

TEXTS = ["zzz", "dog", "qqq", "cat", "bread"]


@pytest.fixture
def client(make_client: Callable[..., FlaskClient]) -> FlaskClient:
    return make_client()


@pytest.fixture
def make_client(fake: FakeEngine, make_proxy: MakeProxy) -> Callable[..., FlaskClient]:
    """A service before an engine that finds 100 texts, the same five again and again."""

    def page(received: Received) -> bytes:
        found = [
            {"_index": "pages", "_id": str(n), "_score": 100.0 - n, "_source": {"body": TEXTS[n % len(TEXTS)]}}
            for n in range(json.loads(received.body)["size"])
        ]
        return ok(json.dumps({"took": 1, "hits": {"max_score": 100.0, "hits": found}}).encode())

    fake.answer = page
    return lambda embeddings=None: make_proxy(embeddings).test_client()


def details(client: FlaskClient, size: int = 100, **section: Any) -> list[dict[str, Any]]:
    ext = {"rerank": {"details": True, "language": "en", **section}}
    body = {"query": {"match": {"body": "cat"}}, "size": size, "ext": ext}
    answer = client.post("/pages/_search", json=body)
    assert answer.headers["X-Rerank-Status"] == "applied", answer.text
    return [hit["_rerank"] for hit in answer.get_json()["hits"]["hits"]]


def test_a_hit_that_fits_several_languages_is_read_in_that_of_its_query(
    fake: FakeEngine, make_client: Callable[..., FlaskClient], tmp_path: Path
) -> None:
    # It is the more frequent word in French.
    words = {"en": {"cat": (1.0, 0.0), "radio": (0.6, 0.8)}, "fr": {"radio": (0.6, 0.8), "chat": (1.0, 0.0)}}
    client = make_client(write_embeddings(tmp_path / "embeddings", words))
    hits = [{"_index": "pages", "_id": str(n), "_score": 2.0 - n, "_source": {"body": "radio"}} for n in range(2)]
    fake.answer = lambda received: ok(json.dumps({"took": 1, "hits": {"hits": hits}}).encode())
    for query, language in [("cat radio", "en"), ("chat radio", "fr")]:
        # A hit in another language than the query's has no relevance.
        found = details(client, query_context={"query_text": query}, language=language)
        assert [one["relevance"] is None for one in found] == [False, False], language


def test_the_query_is_encoded_while_the_engine_searches(
    fake: FakeEngine, make_client: Callable[..., FlaskClient], tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
    embeddings = encoding_embeddings(tmp_path / "embeddings")
    client = make_client(embeddings)
    (encoder,) = embeddings.query_encoders
    begin, begun, page = encoder.begin, Event(), fake.answer

    def noted(text: str, language: str) -> Future[Vector | None]:
        begun.set()
        return begin(text, language)

    def answer(received: Received) -> bytes:
        assert begun.wait(PATIENCE_S)  # without it the engine never answers
        return page(received)

    encoder.begin, fake.answer = noted, answer  # type: ignore[method-assign]
    assert len(details(client, size=5, window_size=5)) == 5


def test_a_query_that_the_indices_read_anew_is_encoded_while_the_texts_are_read(
    make_client: Callable[..., FlaskClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
    client = make_client(encoding_embeddings(tmp_path / "embeddings"))
    weighed, collect, begun = Indices.weighed, HitTexts.collect, []

    def read_anew(self: Indices, search: Search, indices: Collection[str]) -> Weighed:
        reranker, query = weighed(self, search, indices)
        encoder = reranker.embeddings.query_encoders[0]
        return Weighed(reranker, replace(query, encoding=encoder.query("vessel", "en")))

    def read_texts(self: HitTexts, *args: Any) -> Any:
        begun.append(set(self._embeddings.query_encoders[0]._cached))
        return collect(self, *args)

    monkeypatch.setattr(Indices, "weighed", read_anew)
    monkeypatch.setattr(HitTexts, "collect", read_texts)
    details(client, size=5, window_size=5)
    assert begun == [{("en", "cat"), ("en", "vessel")}]


def cat_search(size: int, **more: Any) -> dict[str, Any]:
    """For `cat`, of whose hits each fifth holds it: two of the ten of the window."""
    section = {"language": "en", "window_size": 10, **more.pop("section", {})}
    return {"query": {"match": {"body": "cat"}}, "size": size, "ext": {"rerank": section}, **more}


def test_each_hit_says_how_likely_it_is_what_was_meant_and_the_answer_whether_the_first_is(client: FlaskClient) -> None:
    answer = client.post("/pages/_search", json=cat_search(12, section={"details": True})).get_json()
    assert answer["ext"] == {"rerank": {"no_good_answer": False, "n_reranked": 10, "language": "en"}}
    relevance = {int(hit["_id"]): hit["_rerank"]["relevance"] for hit in answer["hits"]["hits"]}
    assert min(relevance[3], relevance[8]) > max(relevance[n] for n in range(10) if n not in (3, 8))
    assert [relevance[10], relevance[11]] == [None, None]  # behind the window
    by_nbow = details(client, size=3, method="nbow")
    assert [hit["relevance"] for hit in by_nbow] == [None] * 3
    assert "ext" not in client.post("/pages/_search", json=cat_search(12)).get_json()


@pytest.mark.parametrize("total", [{"value": 100, "relation": "gte"}, 100, None])
def test_hits_with_less_relevance_are_left_out_of_all_pages_and_of_the_total(
    client: FlaskClient, fake: FakeEngine, total: Any
) -> None:
    page = fake.answer

    def with_total(received: Received) -> bytes:
        answer = json.loads(page(received).partition(b"\r\n\r\n")[2])
        hits = answer["hits"] | ({} if total is None else {"total": total})
        return ok(
            json.dumps(answer | {"hits": hits, "aggregations": {"n": {"value": 100}}, "ext": {"own": 1}}).encode()
        )

    fake.answer = with_total
    whole = client.post("/pages/_search", json=cat_search(10, section={"details": True})).get_json()["hits"]["hits"]
    relevance = {hit["_id"]: hit["_rerank"]["relevance"] for hit in whole}
    section = {"min_relevance": min(relevance["3"], relevance["8"])}
    kept = [hit["_id"] for hit in whole if hit["_id"] in ("3", "8")]
    pages = [
        client.post("/pages/_search", json=cat_search(size, **{"from": start}, section=section)).get_json()
        for start, size in ((0, 50), (0, 1), (1, 1), (2, 10), (10, 10), (40, 10))
    ]
    assert [[hit["_id"] for hit in answer["hits"]["hits"]] for answer in pages] == [
        kept,
        kept[:1],
        kept[1:],
        [],
        [],
        [],
    ]
    for answer in pages:
        assert answer["ext"] == {"own": 1, "rerank": {"no_good_answer": False, "n_cut": 8}}
        shown = answer["hits"].get("total")
        assert shown == ({"value": 2, "relation": "eq"} if isinstance(total, dict) else None if total is None else 2)
        assert answer["aggregations"] == {"n": {"value": 100}}
    everything = client.post("/pages/_search", json=cat_search(20, section={"min_relevance": 0})).get_json()
    assert len(everything["hits"]["hits"]) == 20  # with those behind the window
    assert everything["hits"].get("total") == total
    assert everything["ext"]["rerank"] == {"no_good_answer": False, "n_cut": 0}
    nothing = client.post("/pages/_search", json=cat_search(10, section={"min_relevance": 1})).get_json()
    assert nothing["hits"]["hits"] == []
    assert nothing["hits"]["max_score"] is None
    assert nothing["ext"]["rerank"] == {"no_good_answer": True, "n_cut": 10}


def test_of_a_multi_search_each_answer_says_it_for_itself(client: FlaskClient, fake: FakeEngine) -> None:
    page = fake.answer

    def both(received: Received) -> bytes:
        lines = received.body.splitlines()[1::2]
        answers = [json.loads(page(replace(received, body=line)).partition(b"\r\n\r\n")[2]) for line in lines]
        return ok(json.dumps({"took": 1, "responses": answers}).encode())

    fake.answer = both
    lines = ["{}", json.dumps(cat_search(10, section={"min_relevance": 1})), "{}", json.dumps(cat_search(10))]
    answer = client.post("/pages/_msearch", data="\n".join([*lines, ""]), content_type="application/x-ndjson")
    first, second = answer.get_json()["responses"]
    assert first["ext"] == {"rerank": {"no_good_answer": True, "n_cut": 10}}
    assert (len(first["hits"]["hits"]), len(second["hits"]["hits"]), "ext" in second) == (0, 10, False)


def test_where_the_engines_order_stays_all_its_hits_do(client: FlaskClient) -> None:
    body = cat_search(50, section={"min_relevance": 1, "query_context": {"query_text": "xyzzy"}})
    answer = client.post("/pages/_search", json=body)
    assert answer.headers["X-Rerank-Reason"] == "unknown_words"
    assert len(answer.get_json()["hits"]["hits"]) == 50


def test_with_the_whole_share_the_engines_order_stays(client: FlaskClient) -> None:
    found = details(client, size=100, first_stage_share=1)
    assert [hit["first_stage_rank"] for hit in found] == list(range(1, 101))


def test_by_transport_alone_hits_without_a_known_word_are_the_last_of_the_window(client: FlaskClient) -> None:
    found = details(client, size=7, window_size=5, method="nbow")
    assert [hit["without_known_word"] for hit in found] == [False, False, False, True, True, False, False]
    assert [hit["first_stage_rank"] for hit in found] == [4, 2, 5, 1, 3, 6, 7]  # cat, dog, bread, zzz, qqq
