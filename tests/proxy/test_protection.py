"""Re-ranking never makes a search worse: what fails, takes too long or comes too often takes the engine's order."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from reranker.base.leaving import Client
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.hit_texts import WindowBags
from reranker.proxy.rank import RankedWindow
from reranker.proxy.search import Outcome
from reranker.proxy.window import Window
from reranker.ranking.corrections import Corrections
from reranker.ranking.ranked import RankedDocument, Reasons, Reranking
from reranker.text.bags import WeightedBags
from reranker.upstream.calls import MAX_ANSWER_BYTES
from tests.support.calls import outcomes
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.service import MakeProxy
from tests.support.waiting import PATIENCE_S, wait_until

TEXTS = ["bread", "car", "dog", "cat"]
SEARCH = {"query": {"match": {"body": "cat"}}, "size": 2}


def page(received: Received) -> bytes:
    """An engine that finds all texts, in their order."""
    body = json.loads(received.body) if received.body else {}
    size, start = body.get("size", 10), body.get("from", 0)
    found = [
        {"_index": "pages", "_id": str(n), "_score": 9.5 - n, "_source": {"body": text}}
        for n, text in list(enumerate(TEXTS))[start : start + size]
    ]
    answer = {"took": 3, "hits": {"total": {"value": 4}, "max_score": 9.5, "hits": found}}
    return ok(json.dumps(answer).encode())


@pytest.fixture
def make_app(fake: FakeEngine, make_proxy: MakeProxy) -> MakeProxy:
    fake.answer = page
    return partial(make_proxy, method="rwmd")


class Ranker:
    """Puts the hits in the opposite order; fails or waits where a test says so."""

    def __init__(self) -> None:
        self.fails = False
        self.takes_s = 0.0
        self.go_on = threading.Event()
        self.go_on.set()
        self.n_calls = 0

    def order(self, window: Window, found: WindowBags, weighed: Any) -> RankedWindow:
        self.n_calls += 1
        time.sleep(self.takes_s)
        assert self.go_on.wait(PATIENCE_S)
        if self.fails:
            raise RuntimeError("broken\r\nX-Injected: 1")
        n = len(found.bags)
        reasons = Reasons(Corrections.make(n), WeightedBags.join([]))
        documents = tuple(
            RankedDocument(n - rank, rank, 0.0, (n - rank + 1) / 10, False, reasons) for rank in range(1, n + 1)
        )
        ranking = Reranking(documents, "opposite", "exact", 0, 0, 0, n, 0)
        return RankedWindow(window, Outcome("applied"), window.search.page.offset, found, None, ranking)


def with_ranker(app: Flask) -> tuple[Proxy, Ranker]:
    proxy: Proxy = app.extensions[PROXY_EXTENSION]
    ranker = Ranker()
    proxy.ranking.ranker.order = ranker.order  # type: ignore[method-assign]
    return proxy, ranker


def outcome(response: TestResponse) -> tuple[str, str | None, list[str]]:
    hits = response.get_json()["hits"]["hits"]
    return (
        response.headers["X-Rerank-Status"],
        response.headers.get("X-Rerank-Reason"),
        [hit["_source"]["body"] for hit in hits],
    )


def test_a_failure_gives_the_engines_page_without_asking_it_again(
    make_app: MakeProxy, fake: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app()
    _, ranker = with_ranker(app)
    ranker.fails = True
    response = app.test_client().post("/pages/_search", json={**SEARCH, "from": 1})
    assert outcome(response) == ("fallback", "rerank_failed", ["car", "dog"])
    assert [hit["_score"] for hit in response.get_json()["hits"]["hits"]] == [8.5, 7.5]
    assert response.get_json()["hits"]["max_score"] == 9.5
    assert "X-Injected" not in response.headers
    assert len(fake.received) == 1
    assert outcomes(app) == {"fallback/rerank_failed": 1}
    assert len([record for record in caplog.records if "rerank_failed" in record.getMessage()]) == 1


@pytest.mark.parametrize("part", ["read.read_query", "write._written", "proxy.fetch"])
def test_a_mistake_of_ours_anywhere_gives_the_engines_answer(
    make_app: MakeProxy, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    app = make_app()
    with_ranker(app)

    def mistaken(*_: Any) -> Any:
        raise KeyError("a mistake")

    monkeypatch.setattr(f"reranker.proxy.{part}", mistaken)
    response = app.test_client().post("/pages/_search", json=SEARCH)
    assert outcome(response) == ("fallback", "rerank_failed", ["bread", "car"])
    assert json.loads(fake.received[-1].body) == SEARCH


@pytest.mark.parametrize("more", [{}, {"highlight": {"fields": {"body": {}}}}])
def test_failures_in_a_row_make_it_rest(make_app: MakeProxy, fake: FakeEngine, more: dict[str, Any]) -> None:
    search = SEARCH | more
    app = make_app()
    proxy, ranker = with_ranker(app)
    now_s = 100.0
    proxy.breaker.clock = lambda: now_s
    client = app.test_client()
    ranker.fails = True
    for _ in range(5):
        assert outcome(client.post("/pages/_search", json=search))[1] == "rerank_failed"
    now_s += 29
    assert outcome(client.post("/pages/_search", json=search)) == ("fallback", "breaker_open", ["bread", "car"])
    assert json.loads(fake.received[-1].body) == search  # as it came
    assert ranker.n_calls == 5
    ranker.fails = False
    now_s += 2
    assert outcome(client.post("/pages/_search", json=search)) == ("applied", None, ["cat", "dog"])
    assert outcome(client.post("/pages/_search", json=search))[0] == "applied"


def test_took_counts_both_stages(make_app: MakeProxy) -> None:
    app = make_app()
    _, ranker = with_ranker(app)
    ranker.takes_s = 0.2
    response = app.test_client().post("/pages/_search", json=SEARCH)
    assert response.get_json()["took"] >= 3 + 150  # the engine says 3


@contextmanager
def waiting(ranker: Ranker) -> Iterator[None]:
    ranker.go_on.clear()
    try:
        yield
    finally:
        ranker.go_on.set()


def test_more_searches_than_may_be_are_answered_in_the_engines_order_at_once(make_app: MakeProxy) -> None:
    app = make_app(workers=1)
    _, ranker = with_ranker(app)
    with ThreadPoolExecutor(1) as threads:
        with waiting(ranker):
            first = threads.submit(lambda: app.test_client().post("/pages/_search", json=SEARCH))
            wait_until(lambda: ranker.n_calls, "it is being re-ranked")
            second = app.test_client().post("/pages/_search", json=SEARCH)
            assert outcome(second) == ("fallback", "busy", ["bread", "car"])
        assert outcome(first.result(PATIENCE_S)) == ("applied", None, ["cat", "dog"])
    assert outcomes(app) == {"applied": 1, "fallback/busy": 1}
    assert outcome(app.test_client().post("/pages/_search", json=SEARCH))[0] == "applied"


@contextmanager
def asked_together(proxy: Proxy, n: int) -> Iterator[None]:
    """The engine is given searches once there are `n` of them."""
    send, together = proxy.upstream.send, threading.Barrier(n)

    def wait_and_send(*arguments: Any, **options: Any) -> Any:
        together.wait(PATIENCE_S)
        return send(*arguments, **options)

    proxy.upstream.send = wait_and_send  # type: ignore[method-assign]
    yield
    proxy.upstream.send = send  # type: ignore[method-assign]


def test_searches_that_wait_for_the_engine_keep_no_other_from_being_re_ranked(make_app: MakeProxy) -> None:
    app = make_app(workers=1)
    proxy, _ = with_ranker(app)
    with asked_together(proxy, 3), ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: app.test_client().post("/pages/_search", json=SEARCH), range(3)))
    assert [outcome(one) for one in found] == [("applied", None, ["cat", "dog"])] * 3


def test_a_search_whose_texts_are_looked_up_keeps_no_other_from_being_re_ranked(make_app: MakeProxy) -> None:
    app = make_app(workers=1)
    proxy, _ = with_ranker(app)
    send, is_asked, go_on = proxy.upstream.send, threading.Event(), threading.Event()

    def wait_and_send(*arguments: Any, **options: Any) -> Any:
        if any(isinstance(one, bytes) and b'"ids"' in one for one in arguments):
            is_asked.set()
            assert go_on.wait(PATIENCE_S)
        return send(*arguments, **options)

    proxy.upstream.send = wait_and_send  # type: ignore[method-assign]
    with_look_up = {**SEARCH, "_source": ["title"]}
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(lambda: app.test_client().post("/pages/_search", json=with_look_up))
        try:
            assert is_asked.wait(PATIENCE_S)
            second = app.test_client().post("/pages/_search", json=SEARCH)
        finally:
            go_on.set()
        assert outcome(second) == ("applied", None, ["cat", "dog"])
        assert outcome(first.result(PATIENCE_S)) == ("applied", None, ["cat", "dog"])


@pytest.mark.parametrize("n_look_ups", [1, 2], ids=["bags", "marks"])
def test_a_client_that_leaves_while_texts_are_looked_up_is_no_failed_re_ranking(
    make_app: MakeProxy, fake: FakeEngine, n_look_ups: int, caplog: pytest.LogCaptureFixture
) -> None:
    app, client = make_app(), Client()
    asked: list[Received] = []

    def answer(received: Received) -> bytes:
        if b'"ids"' not in received.body:
            return page(received).replace(b'"body"', b'"name"')  # the text is not in it
        asked.append(received)
        if len(asked) < n_look_ups:
            return page(received)
        client.leave()
        return b""

    fake.answer = answer
    search = {**SEARCH, "_source": ["name"], "highlight": {"fields": {"body": {}}}}
    answered = app.test_client().post("/pages/_search", json=search, environ_overrides={"sinkrank.client": client})
    assert answered.status_code == 499
    assert len(asked) == n_look_ups
    assert outcomes(app) == {}
    assert "failed" not in caplog.text


def test_a_re_ranking_that_takes_too_long_gives_the_engines_page(make_app: MakeProxy) -> None:
    app = make_app(proxy_budget_ms=1_000)
    _, ranker = with_ranker(app)
    with waiting(ranker):
        response = app.test_client().post("/pages/_search", json=SEARCH)
    assert outcome(response) == ("fallback", "out_of_time", ["bread", "car"])


def test_the_engines_own_time_counts(make_app: MakeProxy, fake: FakeEngine) -> None:
    def slow(received: Received) -> bytes:
        time.sleep(0.1)
        return page(received)

    fake.answer = slow
    app = make_app(proxy_budget_ms=50)
    proxy, ranker = with_ranker(app)
    proxy.breaker.n_failures = 1
    for _ in range(2):
        response = app.test_client().post("/pages/_search", json=SEARCH)
        assert outcome(response) == ("fallback", "out_of_time", ["bread", "car"])
    assert ranker.n_calls == 0
    assert proxy.breaker.state == "closed"  # the engine is slow, not re-ranking


@pytest.mark.parametrize("status", ["401 Who", "403 Never", "404 Nowhere", "429 Slower", "503 Later"])
def test_an_error_that_is_not_about_the_window_is_passed_on_at_once(
    make_app: MakeProxy, fake: FakeEngine, status: str
) -> None:
    fake.answer = lambda received: (
        f"HTTP/1.1 {status}\r\nContent-Length: 4\r\nWWW-Authenticate: Basic\r\nConnection: close\r\n\r\noops".encode()
    )
    response = make_app().test_client().post("/pages/_search", json=SEARCH)
    assert (response.status_code, response.data) == (int(status[:3]), b"oops")
    assert response.headers["WWW-Authenticate"] == "Basic"
    assert response.headers["X-Rerank-Reason"] == "engine_error"
    assert len(fake.received) == 1


def test_an_error_that_may_be_about_the_window_is_asked_for_as_it_came(make_app: MakeProxy, fake: FakeEngine) -> None:
    fake.answer = lambda received: (
        page(received)
        if json.loads(received.body).get("size") == 2
        else b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    response = make_app().test_client().post("/pages/_search", json=SEARCH)
    assert outcome(response) == ("fallback", "engine_refused", ["bread", "car"])


FAILED = {"_shards": {"total": 3, "successful": 2, "failed": 1}}
LATE = {"timed_out": True}


@pytest.mark.parametrize(
    ("said", "total", "is_whole"),
    [
        (FAILED, {"value": 5, "relation": "eq"}, False),  # of 4 hits
        (LATE, {"value": 5, "relation": "gte"}, False),
        (FAILED, 5, False),
        (FAILED, {"value": 1, "relation": "gte"}, False),
        (FAILED, None, False),  # nobody knows
        (FAILED, -1, False),
        (FAILED, {"value": 4, "relation": "eq"}, True),  # the engine's own page lacks the same ones
        (LATE, {"value": 4, "relation": "eq"}, True),
        ({}, {"value": 5, "relation": "eq"}, True),  # it collapses hits
    ],
)
def test_a_window_that_lacks_hits_since_a_shard_failed_is_not_re_ranked(
    make_app: MakeProxy, fake: FakeEngine, said: dict[str, Any], total: Any, is_whole: bool
) -> None:
    def answer(received: Received) -> bytes:
        answered = json.loads(page(received).partition(b"\r\n\r\n")[2])
        if json.loads(received.body)["size"] > 2:
            answered |= said
            answered["hits"]["total"] = total
        return ok(json.dumps(answered).encode())

    fake.answer = answer
    response = make_app().test_client().post("/pages/_search", json=SEARCH)
    if is_whole:
        assert (outcome(response)[0], len(fake.received)) == ("applied", 1)
    else:
        assert outcome(response) == ("fallback", "engine_refused", ["bread", "car"])
        assert [json.loads(one.body)["size"] for one in fake.received] == [100, 2]


@pytest.mark.parametrize(
    "answer",
    [b"{", b"[]", b'{"hits": 7}', b'{"hits": {"hits": {}}}', b'{"hits": {"hits": [7]}}', b"\xff", b"[" * 9_999],
)
def test_an_answer_that_is_no_search_answer_is_passed_on(make_app: MakeProxy, fake: FakeEngine, answer: bytes) -> None:
    fake.answer = lambda received: ok(answer)
    response = make_app().test_client().post("/pages/_search", json=SEARCH)
    assert (response.status_code, response.data) == (200, answer)
    assert response.headers["X-Rerank-Status"] == "fallback"


def test_an_answer_over_the_limit_is_not_re_ranked(make_app: MakeProxy, fake: FakeEngine) -> None:
    fake.answer = lambda received: ok(b'{"hits": {"hits": [] , "x": "' + b"y" * MAX_ANSWER_BYTES + b'"}}')
    response = make_app(proxy_budget_ms=60_000).test_client().post("/pages/_search", json=SEARCH)
    assert response.headers["X-Rerank-Reason"] == "answer_too_large"
    assert len(response.data) > MAX_ANSWER_BYTES


def test_a_look_up_that_fails_gives_the_engines_order(make_app: MakeProxy, fake: FakeEngine) -> None:
    def answer(received: Received) -> bytes:
        if b'"ids"' in received.body:
            return b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        return page(received)

    fake.answer = answer
    response = make_app().test_client().post("/pages/_search", json={**SEARCH, "_source": ["title"]})
    assert response.headers["X-Rerank-Status"] == "fallback"
    assert [hit["_id"] for hit in response.get_json()["hits"]["hits"]] == ["0", "1"]


def test_what_one_caller_may_read_is_not_kept_for_another_with_a_token_in_the_url(
    make_app: MakeProxy, fake: FakeEngine
) -> None:
    """OpenSearch's `jwt_url_parameter` has any name."""

    def answer(received: Received) -> bytes:
        is_admin = "token=a" in received.line
        found = [
            {"_index": "pages", "_id": str(n), "_score": 9.5 - n, "_seq_no": n, "_primary_term": 1}
            | {"_source": {"title": "-", "body": text} if is_admin else {"title": "-"}}
            for n, text in enumerate(TEXTS)
        ]
        hits = {"total": {"value": 4}, "max_score": 9.5, "hits": found}
        return ok(json.dumps({"took": 3, "_shards": {"total": 1, "failed": 0}, "hits": hits}).encode())

    fake.answer = answer
    client = make_app().test_client()
    body = {**SEARCH, "size": 4, "_source": ["title"], "ext": {"rerank": {"text_fields": ["body"]}}}
    orders = [
        [hit["_id"] for hit in client.post(f"/pages/_search?token={one}", json=searched).get_json()["hits"]["hits"]]
        for one, searched in (("a", {**body, "_source": True}), ("b", body))
    ]
    assert orders[0] != ["0", "1", "2", "3"]
    assert orders[1] == ["0", "1", "2", "3"]


def test_the_text_of_a_field_within_another_is_looked_up_by_the_field_that_the_source_has(
    make_app: MakeProxy, fake: FakeEngine
) -> None:
    fake.answer = lacking({}, {"value": len(TEXTS)})
    ext = {"rerank": {"text_fields": ["body.english", "parts.*"]}}
    make_app().test_client().post("/pages/_search", json={**SEARCH, "_source": False, "ext": ext})
    (looked_up,) = [json.loads(one.body)["_source"] for one in fake.received if b'"ids"' in one.body]
    assert looked_up == ["body", "parts.*"]


def lacking(members: dict[str, Any], total: Any) -> Any:
    """An engine of one shard whose first look-up lacks the last text.

    Args:
        members: of the answer to this look-up.
        total: of documents that it finds.
    """
    n_look_ups = 0

    def answer(received: Received) -> bytes:
        nonlocal n_look_ups
        found = [
            {"_index": "pages", "_id": str(n), "_score": 9.5 - n, "_seq_no": n, "_primary_term": 1}
            for n in range(len(TEXTS))
        ]
        answered = {"_shards": {"total": 1}, "hits": {"total": {"value": len(TEXTS)}, "hits": found}}
        if b'"ids"' in received.body:
            n_look_ups += 1
            found = [one | {"_source": {"body": text}} for one, text in zip(found, TEXTS, strict=True)]
            answered["hits"] = {"total": {"value": len(TEXTS)}, "hits": found}
            if n_look_ups == 1:
                answered |= {"hits": {"total": total, "hits": found[:-1]}, **members}
        return ok(json.dumps(answered).encode())

    return answer


def test_a_document_that_was_deleted_after_the_window_has_no_text_and_the_others_are_re_ranked(
    make_app: MakeProxy, fake: FakeEngine
) -> None:
    fake.answer = lacking({}, {"value": 3})
    client = make_app().test_client()
    search = {**SEARCH, "_source": False, "size": 4}
    first = client.post("/pages/_search", json=search)
    assert first.headers["X-Rerank-Status"] == "applied"
    assert first.get_json()["hits"]["hits"][0]["_id"] == str(TEXTS.index("dog"))
    # A copy of the shard may only not have seen it yet, so nothing is cached of it.
    second = client.post("/pages/_search", json=search)
    assert second.get_json()["hits"]["hits"][0]["_id"] == str(TEXTS.index("cat"))
    looked_up = [json.loads(one.body)["query"] for one in fake.received if b'"ids"' in one.body]
    assert looked_up == [{"ids": {"values": ["0", "1", "2", "3"]}}, {"ids": {"values": ["3"]}}]


@pytest.mark.parametrize(("members", "total"), [(FAILED, {"value": 3}), (LATE, {"value": 3}), ({}, {"value": 4})])
def test_a_look_up_that_does_not_find_all_texts_leaves_the_engines_order(
    make_app: MakeProxy, fake: FakeEngine, members: dict[str, Any], total: Any
) -> None:
    fake.answer = lacking(members, total)
    response = make_app().test_client().post("/pages/_search", json={**SEARCH, "_source": False})
    assert response.headers["X-Rerank-Reason"] == "look_up_failed"
    assert [hit["_id"] for hit in response.get_json()["hits"]["hits"]] == ["0", "1"]
