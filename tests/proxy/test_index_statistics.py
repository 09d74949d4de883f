"""What is learned of an index that is not ours: once, in the background, within limits, at no search's cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reranker.api.app import create_app
from reranker.base.errors import NotFound, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION
from reranker.proxy.index_statistics import IndexStatistics, joined_idf, sample_statistics
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.support.clock import Clock
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.tiny import write_embeddings

CAT, DOG, BREAD = 0, 1, 3  # term ids of tests/support/tiny.py
TEXTS = [*["cat dog"] * 30, *["cat bread zzz"] * 20, *["chat"] * 10, *["- !"] * 5]


class FakeStore:
    """Gives each index the same texts, or fails as a test says."""

    def __init__(self, texts: Sequence[str] = TEXTS) -> None:
        self.texts = texts
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.error: Exception | None = None

    def sample(self, index: str, fields: Sequence[str], n_documents: int) -> Iterable[Mapping[str, Any]]:
        self.asked.append((index, tuple(fields)))
        if self.error is not None:
            raise self.error
        return [{"_index": index, "_id": str(n), "_source": {"text": text}} for n, text in enumerate(self.texts)]


def at_once(work: Callable[[], None]) -> None:
    work()


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def statistics(store: FakeStore, embeddings: Embeddings, clock: Clock) -> IndexStatistics:
    return IndexStatistics(store, embeddings, clock, at_once)


def test_a_sample_is_counted_by_language(embeddings: Embeddings) -> None:
    found = sample_statistics(TEXTS, embeddings)
    assert found.languages == {"en": 50 / 60, "fr": 10 / 60}
    assert found.unknown_share == 20 / (60 + 60 + 10)
    # Ten French documents are too few to count by.
    (english,) = joined_idf([found]).languages.values()
    idf = english.idf(np.array([CAT, DOG, BREAD], dtype=np.int32))
    assert idf.tolist() == pytest.approx([0.0, log(51 / 31), log(51 / 21)])
    assert (sample_statistics([], embeddings).languages, sample_statistics([], embeddings).unknown_share) == ({}, 0.0)


def test_what_fits_several_languages_is_counted_in_the_most_frequent_of_them(tmp_path: Path) -> None:
    words = {"en": {"cat": (1.0, 0.0), "radio": (0.6, 0.8)}, "fr": {"radio": (0.6, 0.8), "chat": (1.0, 0.0)}}
    embeddings = write_embeddings(tmp_path / "embeddings", words)
    assert sample_statistics(["cat", "cat", "radio", "chat"], embeddings).languages == {"en": 3 / 4, "fr": 1 / 4}
    assert sample_statistics(["chat", "radio"], embeddings).languages == {"fr": 1.0}


def test_samples_are_joined_by_summing_their_counts(embeddings: Embeddings) -> None:
    parts = [sample_statistics(texts, embeddings) for texts in (TEXTS, ["cat car"] * 25, ["chat pain"] * 45)]
    # 55 French documents are enough, though each sample had too few.
    frequencies = {
        code: (each.n_documents, dict(zip(each.term_ids.tolist(), each.counts.tolist(), strict=True)))
        for code, each in joined_idf(parts).languages.items()
    }
    assert frequencies == {"en": (75, {CAT: 75, DOG: 30, BREAD: 20, 4: 25}), "fr": (55, {5: 55, 8: 45})}


def test_hits_of_several_indices_take_the_statistics_of_all_once_all_are_known(
    statistics: IndexStatistics, store: FakeStore
) -> None:
    assert not statistics.of_all(["b", "a"])
    assert joined_idf(statistics.of_all({"a", "b"})).languages["en"].n_documents == 100
    store.error = StoreUnavailable("forbidden")
    assert not statistics.of_all(["a", "c"])
    assert not statistics.of_all(["a", "c"])
    assert not statistics.of_all([f"index-{number}" for number in range(11)])


def test_a_search_takes_what_is_known_and_the_rest_is_learned_after_it(
    store: FakeStore, embeddings: Embeddings
) -> None:
    started: list[Callable[[], None]] = []
    statistics = IndexStatistics(store, embeddings, start=started.append)
    assert not statistics.of_all(["pages"])
    assert statistics.languages("pages") == {}
    assert len(started) == 1
    assert not store.asked
    started[0]()
    assert joined_idf(statistics.of_all(["pages"])).languages["en"].n_documents == 50
    assert statistics.languages("pages") == {"en": 50 / 60, "fr": 10 / 60}
    assert store.asked == [("pages", ())]


def test_statistics_are_kept_by_index_and_fields(statistics: IndexStatistics, store: FakeStore) -> None:
    for _ in range(2):
        statistics.of_all(["pages"])
        statistics.of_all(["pages"], ("text",))
        statistics.of_all(["pages"], ("title",))
        statistics.of_all(["others"])
    assert store.asked == [("pages", ()), ("pages", ("text",)), ("pages", ("title",)), ("others", ())]
    assert not joined_idf(statistics.of_all(["pages"], ("title",))).languages  # no document has a title


def test_statistics_are_learned_anew_after_an_hour_and_used_meanwhile(
    store: FakeStore, embeddings: Embeddings, clock: Clock
) -> None:
    started: list[Callable[[], None]] = []
    statistics = IndexStatistics(store, embeddings, clock, started.append)
    statistics.languages("pages")
    started.pop()()
    store.texts = ["chat"] * 60
    clock.now += 3_599
    assert "en" in statistics.languages("pages")
    assert not started
    clock.now += 1
    assert "en" in statistics.languages("pages")
    started.pop()()
    assert statistics.languages("pages") == {"fr": 1.0}


def test_after_a_failure_it_waits_five_minutes(
    statistics: IndexStatistics, store: FakeStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store.error = StoreUnavailable("the engine is overloaded")
    tried_at = []
    for _ in range(100):
        n_before = len(store.asked)
        assert not statistics.of_all(["pages"])
        if len(store.asked) > n_before:
            tried_at.append(clock.now - 1_000)
        clock.now += 10
    assert tried_at == [0, 300, 600, 900]
    assert "index 'pages' cannot be learned: the engine is overloaded" in caplog.text


def test_a_failure_leaves_what_was_learned_and_a_deleted_index_does_not(
    statistics: IndexStatistics, store: FakeStore, clock: Clock
) -> None:
    assert not statistics.of_all(["pages"])  # a search takes what was known when it came
    assert statistics.of_all(["pages"])
    store.error = StoreUnavailable("down")
    clock.now += 3_600
    statistics.of_all(["pages"])
    assert statistics.of_all(["pages"])
    store.error = KeyError("hits")  # a mistake of ours is a failure too
    clock.now += 3_600
    statistics.of_all(["pages"])
    assert statistics.of_all(["pages"])
    store.error = NotFound("no such index")
    clock.now += 3_600
    statistics.of_all(["pages"])
    assert not statistics.of_all(["pages"])


@pytest.mark.parametrize("name", ["", "_all", "a,b", "logs-*", "../pages", "-pages"])
def test_lists_and_patterns_of_indices_are_not_learned(
    statistics: IndexStatistics, store: FakeStore, name: str
) -> None:
    assert statistics.languages(name) == {}
    assert not store.asked


def test_where_no_thread_can_be_started_a_search_goes_on(store: FakeStore, embeddings: Embeddings) -> None:
    def refuse(_: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    statistics = IndexStatistics(store, embeddings, start=refuse)
    assert not statistics.of_all(["pages"])
    assert statistics.wait(0)


@pytest.mark.parametrize(("learns", "n_asked"), [(True, 1), (False, 0)])
def test_it_can_be_switched_off(embeddings: Embeddings, tmp_path: Path, learns: bool, n_asked: int) -> None:
    store = FakeStore()
    settings = Settings(home=tmp_path, store="opensearch://127.0.0.1:1", proxy_learn_weights=learns)
    app = create_app(settings, store, embeddings)  # type: ignore[arg-type]
    statistics = app.extensions[PROXY_EXTENSION].ranking.statistics
    statistics.of_all(["pages"])
    assert statistics.wait(30)
    assert len(store.asked) == n_asked


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_an_engine_that_refuses_the_sample_leaves_searches_as_they_are(
    fake: FakeEngine, embeddings: Embeddings, tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    hits = [{"_index": "pages", "_id": word, "_score": 1.0, "_source": {"text": word}} for word in ("bread", "cat")]
    answer = json.dumps({"took": 1, "hits": {"total": {"value": 2}, "max_score": 1.0, "hits": hits}}).encode()

    def answered(received: Received) -> bytes:
        if "/_mapping" in received.line or b"function_score" in received.body:
            return ok(b'{"error": {"type": "no", "reason": "not for you"}}').replace(b"200 OK", f"{status} No".encode())
        return ok(answer)

    fake.answer = answered
    store = open_store(fake.url)
    app = create_app(Settings(home=tmp_path, threads=1, store=fake.url, proxy_budget_ms=60_000), store, embeddings)
    for _ in range(2):
        response = app.test_client().post("/pages/_search", json={"query": {"match": {"text": "cat"}}})
        assert response.headers["X-Rerank-Status"] == "applied"
        assert [hit["_id"] for hit in response.get_json()["hits"]["hits"]] == ["cat", "bread"]
        assert app.extensions[PROXY_EXTENSION].ranking.statistics.wait(30)
    # Asked once: the second search came within the minute after the failure.
    assert caplog.text.count("the word frequencies of index 'pages' cannot be learned") == 1
    store.close()


def test_the_sample_is_asked_for_with_the_services_own_rights_and_not_the_callers(
    fake: FakeEngine, embeddings: Embeddings, tmp_path: Path
) -> None:
    fake.answer = lambda received: ok(b'{"took": 1, "hits": {"hits": []}}')
    own, callers = "Basic c2VydmljZTpwdw==", "Basic Y2FsbGVyOnB3"  # service:pw, caller:pw
    store = open_store(fake.url, username="service", password="pw")
    app = create_app(Settings(home=tmp_path, store=fake.url, proxy_budget_ms=60_000), store, embeddings)
    body = {"query": {"match": {"text": "cat"}}}
    app.test_client().post("/pages/_search", json=body, headers={"Authorization": callers})
    assert app.extensions[PROXY_EXTENSION].ranking.statistics.wait(30)
    searches = [received for received in fake.received if "_search" in received.line]
    asked = {(b"random_score" in one.body, one.header("Authorization")) for one in searches}
    assert asked == {(True, own), (False, callers)}
    store.close()


def test_nothing_is_learned_of_fields_with_names_without_end(statistics: IndexStatistics, store: FakeStore) -> None:
    assert statistics.languages("pages", ["x" * 10_001]) == {}
    assert not store.asked
    statistics.languages("pages", ["x" * 10_000])
    assert len(store.asked) == 1
