"""`proxy_mode = shadow`: callers get the engine's own answer, and another process records what would change."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import Proxy
from reranker.proxy.shadow import ShadowSender, rank_beside, read_message
from reranker.service.engine import engine_address
from reranker.service.service import Service
from reranker.service.settings import Settings
from reranker.traffic.file import Shadowed, TrafficFile
from tests.support.fake_engine import FakeEngine, Received, ok

BREAD_FIRST = [("1", "bread"), ("2", "cat cat"), ("3", "water"), ("4", "dog")]
CAT = {"query": {"match": {"body": "cat"}}}


def answer_of_engine(received: Received) -> bytes:
    hits = [
        {"_index": "pages", "_id": doc_id, "_score": 2.0 - n / 100, "_source": {"body": text}}
        for n, (doc_id, text) in enumerate(BREAD_FIRST)
    ]
    answer: Any = {"took": 1, "hits": {"max_score": 2.0, "hits": hits}}
    if "_msearch" in received.line:
        answer = {"took": 1, "responses": [answer] * (received.body.count(b"\n") // 2)}
    return ok(json.dumps(answer).encode())


class Shadow:
    """A service in shadow mode, and what is handed over by it."""

    def __init__(self, settings: Settings, embeddings: Embeddings) -> None:
        self.settings, self.embeddings = settings, embeddings
        self._end, self._to_write = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._end.settimeout(60)
        self.sender = ShadowSender(self._to_write)
        self.client: FlaskClient = create_app(settings, None, embeddings, self.sender.send).test_client()

    def ranked(self, keeps_queries: bool = False) -> list[Shadowed]:
        """What the other process would record of the next search that was handed over."""
        address = engine_address(self.settings)
        assert address is not None
        proxy = Proxy(Service.build(self.settings, None, self.embeddings), address)
        return rank_beside(proxy, self.received()[0], keeps_queries)

    def received(self) -> Any:
        return read_message(self._end.recv(1 << 20))

    def stop_reading(self) -> None:
        self._end.close()

    def close(self) -> None:
        self._end.close()
        self._to_write.close()


@pytest.fixture
def shadow(fake: FakeEngine, embeddings: Embeddings, tmp_path: Path) -> Iterator[Shadow]:
    fake.answer = answer_of_engine
    settings = Settings(home=tmp_path, threads=1, store=fake.url, proxy_budget_ms=60_000)
    with closing(Shadow(settings, embeddings)) as shadow:
        yield shadow


def test_the_answer_is_the_engines_own_byte_for_byte(shadow: Shadow, fake: FakeEngine) -> None:
    answer = shadow.client.post("/pages/_search?size=3", data=json.dumps(CAT), content_type="application/json")
    (sent,) = fake.received
    assert sent.body == json.dumps(CAT).encode()
    assert answer.data == answer_of_engine(sent).partition(b"\r\n\r\n")[2]
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("skipped", "shadow")


def test_the_other_process_finds_what_would_change(shadow: Shadow) -> None:
    """The second of four hits has the query's word, and becomes the first."""
    shadow.client.post("/pages/_search", json=CAT)
    (found,) = shadow.ranked()
    assert (found.outcome, found.reason, found.has_new_first, found.has_new_page) == ("applied", "", True, True)
    assert 0 < found.engine_seconds <= found.seconds
    assert found.query is None


def test_the_text_of_a_query_is_recorded_only_where_it_may_be(shadow: Shadow) -> None:
    shadow.client.post("/pages/_search", json=CAT)
    assert [found.query for found in shadow.ranked(keeps_queries=True)] == ["cat"]


def test_each_search_of_a_multi_search_counts(shadow: Shadow) -> None:
    line = json.dumps(CAT)
    later = json.dumps({**CAT, "from": 2})
    body = f'{{"index":"pages"}}\n{line}\n{{"index":"pages"}}\n{later}\n{{"index":"pages"}}\n{{"size":0}}\n'
    answer = shadow.client.post("/_msearch", data=body, content_type="application/x-ndjson")
    assert len(answer.get_json()["responses"]) == 3
    outcomes = [(found.outcome, found.reason) for found in shadow.ranked()]
    assert outcomes == [("applied", ""), ("skipped", "later_page"), ("skipped", "no_hits_wanted")]


@pytest.mark.parametrize(("text", "section"), [("cat", {"min_relevance": 1}), ("chat", {})])
def test_a_page_without_the_engines_hits_is_another_page(
    shadow: Shadow, fake: FakeEngine, text: str, section: dict[str, Any]
) -> None:
    """Re-ranking leaves out the hit, or finds one by a translation where the engine has none."""
    hit = {"_index": "pages", "_id": "1", "_score": 1.0, "_source": {"body": "cat"}}

    def answer(received: Received) -> bytes:
        found = [hit] if b'"cat"' in received.body else []
        return ok(json.dumps({"took": 1, "hits": {"total": {"value": len(found)}, "hits": found}}).encode())

    fake.answer = answer
    shadow.client.post("/pages/_search", json={"query": {"match": {"body": text}}, "ext": {"rerank": section}})
    (found,) = shadow.ranked()
    assert (found.outcome, found.has_new_first, found.has_new_page, found.change) == ("applied", True, True, 1.0)


def test_a_search_that_asks_for_details_changes_no_figure(shadow: Shadow) -> None:
    """The page asks so."""
    shadow.client.post("/pages/_search", json={**CAT, "ext": {"rerank": {"details": True}}})
    assert [(found.outcome, found.reason) for found in shadow.ranked()] == [("skipped", "details")]


def test_an_engine_is_not_sent_our_section(shadow: Shadow, fake: FakeEngine) -> None:
    section = {"rerank": {"window_size": 3}}
    answer = shadow.client.post("/pages/_search", json={**CAT, "ext": section})
    assert json.loads(fake.received[0].body) == CAT
    assert answer.headers["X-Rerank-Reason"] == "shadow"
    assert [found.outcome for found in shadow.ranked()] == ["applied"]


def test_a_search_that_is_not_to_be_re_ranked_is_not_handed_over(shadow: Shadow) -> None:
    answer = shadow.client.post("/pages/_search?rerank=false", json=CAT)
    assert answer.headers["X-Rerank-Reason"] == "disabled"
    shadow.client.post("/pages/_search", json={"query": {"match": {"body": "dog"}}})
    incoming, _ = shadow.received()
    assert b"dog" in incoming.body


def test_a_search_without_our_section_is_read_by_the_other_process_alone(shadow: Shadow) -> None:
    answer = shadow.client.post("/pages/_search?sort=price", json=CAT)
    assert answer.headers["X-Rerank-Reason"] == "shadow"
    assert [(found.outcome, found.reason) for found in shadow.ranked()] == [("skipped", "sorted")]


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_skipped_search_that_may_have_a_section_is_counted_too(
    shadow: Shadow, fake: FakeEngine, is_compressed: bool
) -> None:
    plain = {**CAT, "sort": "price"}
    data = json.dumps({**plain, "ext": {"rerank": {"window_size": 3}}}).encode()
    headers = {"Content-Type": "application/json"} | ({"Content-Encoding": "gzip"} if is_compressed else {})
    body = gzip.compress(data) if is_compressed else data
    answer = shadow.client.post("/pages/_search", data=body, headers=headers)
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("skipped", "shadow")
    assert json.loads(fake.received[0].body) == plain
    assert [(found.outcome, found.reason) for found in shadow.ranked()] == [("skipped", "sorted")]


def test_a_search_that_is_switched_off_loses_its_section_and_is_not_counted(shadow: Shadow, fake: FakeEngine) -> None:
    answer = shadow.client.post("/pages/_search?rerank=false", json={**CAT, "ext": {"rerank": {"window_size": 3}}})
    assert answer.headers["X-Rerank-Reason"] == "disabled"
    assert json.loads(fake.received[0].body) == CAT
    shadow.client.post("/pages/_search", json={"query": {"match": {"body": "dog"}}})
    assert b"dog" in shadow.received().incoming.body


def test_our_section_is_taken_out_of_a_compressed_body(shadow: Shadow, fake: FakeEngine) -> None:
    body = json.dumps({**CAT, "ext": {"rerank": {"window_size": 3}}})
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    shadow.client.post("/pages/_search", data=gzip.compress(body.encode()), headers=headers)
    assert json.loads(fake.received[0].body) == CAT


def test_a_full_queue_costs_the_caller_nothing_and_is_counted(shadow: Shadow) -> None:
    """A search larger than any message may be, and more searches than the socket holds."""
    large = {"query": {"match": {"body": "cat"}}, "_source": ["x" * 4_000_000]}
    assert shadow.client.post("/pages/_search", json=large).status_code == 200
    n_sent = 0
    body = {**CAT, "_source": ["x" * 40_000]}
    while not shadow.sender.missed["busy"]:
        assert shadow.client.post("/pages/_search", json=body).status_code == 200
        n_sent += 1
    missed = [shadow.received().missed for _ in range(n_sent - 1)]
    shadow.client.post("/pages/_search", json=CAT)
    missed.append(shadow.received().missed)
    assert (missed[0], missed[-1]) == ({"too_large": 1}, {"busy": 1})


def test_a_search_is_answered_where_the_other_process_has_ended(shadow: Shadow) -> None:
    shadow.stop_reading()
    assert shadow.client.post("/pages/_search", json=CAT).status_code == 200
    assert shadow.sender.missed == {"not_running": 1}


def test_credentials_go_to_the_engine_that_ranks_too(shadow: Shadow, fake: FakeEngine) -> None:
    shadow.client.post("/pages/_search", json=CAT, headers={"Authorization": "Basic YTpi"})
    shadow.ranked()
    assert {received.header("Authorization") for received in fake.received} == {"Basic YTpi"}


def test_an_engine_that_fails_is_recorded(shadow: Shadow, fake: FakeEngine) -> None:
    shadow.client.post("/pages/_search", json=CAT)
    fake.answer = lambda received: b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    assert [(found.outcome, found.reason) for found in shadow.ranked()] == [("fallback", "engine_error")]


def test_the_page_says_what_would_change(shadow: Shadow) -> None:
    assert "Live searches" not in shadow.client.get("/-/ui").text
    file = TrafficFile(shadow.settings.home)
    file.create()
    file.add_shadowed([Shadowed("applied", "", True, True, 1.0), Shadowed("applied", "", False, True, 0.1)], {})
    page = shadow.client.get("/-/ui").text
    assert "Of 2 searches, Sinkrank would change the first hit of 50.0% and the first page of 100.0%." in page
