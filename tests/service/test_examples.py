"""The queries that the page offers for an index."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from reranker.answers.page import Example
from reranker.api.app import create_app
from reranker.base.errors import StoreUnavailable
from reranker.base.request_context import RequestContext, current_request, set_current_request, waiting_for
from reranker.embeddings import Embeddings
from reranker.service.examples import Examples, write_examples
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document
from tests.support.service import fill


def same_order(example: Example) -> list[int]:
    return [1, 2, 3]


def test_queries_that_fit_on_a_button_are_offered_in_turn_of_each_language(
    embeddings: Embeddings, tmp_path: Path
) -> None:
    documents = [
        Document("1", "cat", "en", title="A  cat"),
        Document("2", "dog", "en", title="A dog"),
        Document("3", "dog", "en", title=f"{'x' * 78} dog"),  # 82 letters
        Document("4", "chat", "fr", title="Le chat"),
        Document("5", "chien eau. pain voiture", "fr"),
    ]
    with closing(open_store(str(tmp_path / "store"))) as store:
        fill(store, embeddings, "pages", documents)
        offered = Examples(store, tmp_path).of_index("pages", same_order)
    assert all(each.target == "" for each in offered)
    by_language = {code: {each.query for each in offered if each.language == code} for code in ("en", "fr")}
    assert by_language == {"en": {"A cat", "A dog"}, "fr": {"Le chat", "chien eau."}}
    languages = [each.language for each in offered]
    assert languages[0] != languages[1]
    assert languages[2] != languages[3]


def test_five_are_offered_at_most_and_searched_once(store: Store, embeddings: Embeddings, tmp_path: Path) -> None:
    fill(store, embeddings, "many", [Document(str(n), "cat", "en", title=f"cat {n}") for n in range(9)])
    searched: list[str] = []

    def first_page(example: Example) -> list[int]:
        searched.append(example.query)
        return [1]

    examples = Examples(store, tmp_path)
    offered = examples.of_index("many", first_page)
    assert len(offered) == 5
    assert sorted(searched) == [f"cat {n}" for n in range(9)]
    store.drop("many")
    assert examples.of_index("many", first_page) == offered
    assert len(searched) == 9


def test_titles_come_first_whose_orders_differ_most(store: Store, embeddings: Embeddings, tmp_path: Path) -> None:
    pages = {"cat one": [1, 2, 3], "cat two": [9, 8, 7], "cat three": [2, 1, 3], "cat four": [1, 3, 2]}
    fill(store, embeddings, "many", [Document(str(n), "cat", "en", title=title) for n, title in enumerate(pages)])
    offered = Examples(store, tmp_path).of_index("many", lambda example: pages[example.query])
    assert [each.query for each in offered] == ["cat two", "cat three", "cat four", "cat one"]


def test_an_index_is_searched_once_for_requests_that_come_at_once(
    store: Store, embeddings: Embeddings, tmp_path: Path
) -> None:
    fill(store, embeddings, "one", [Document("1", "cat", "en", title="A cat")])
    searched: list[Example] = []
    together = threading.Barrier(4)
    examples = Examples(store, tmp_path)

    def first_page(example: Example) -> list[int]:
        searched.append(example)
        return [1]

    def ask() -> None:
        together.wait()
        assert len(examples.of_index("one", first_page)) == 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(searched) == 1


def test_those_of_the_file_go_before_titles(store: Store, tmp_path: Path) -> None:
    write_examples(tmp_path, "other", [Example("dog", "en")])
    write_examples(tmp_path, "pages", [Example("chat noir", "fr", "en")])
    assert Examples(store, tmp_path).of_index("pages", same_order) == (Example("chat noir", "fr", "en"),)
    assert set(json.loads((tmp_path / "examples.json").read_text())) == {"other", "pages"}


@pytest.mark.parametrize("text", ["", "[]", '{"pages": 1}', '{"pages": [{"query": "cat", "file": "/etc/passwd"}]}'])
def test_a_broken_file_offers_nothing_and_titles_stand_in(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / "examples.json").write_text(text)
    offered = {each.query for each in Examples(store, tmp_path).of_index("pages", same_order)}
    assert offered >= {"Le chat", "A cat"}


def test_a_store_that_does_not_answer_offers_none(tmp_path: Path) -> None:
    class Down:
        def open(self, index: str) -> None:
            raise StoreUnavailable("no node")

    assert Examples(Down(), tmp_path).of_index("pages", same_order) == ()  # type: ignore[arg-type]


def test_after_a_failure_the_next_request_gets_examples(store: Store, tmp_path: Path) -> None:
    def first_page(example: Example) -> list[int]:
        if is_down:
            raise StoreUnavailable("no node")
        return [1]

    examples = Examples(store, tmp_path)
    is_down = True
    assert examples.of_index("pages", first_page) == ()
    is_down = False
    assert {each.query for each in examples.of_index("pages", first_page)} >= {"Le chat", "A cat"}


def offered_by(client: FlaskClient, index: str) -> list[str]:
    answer = client.get("/-/ui/examples", query_string={"index": index})
    assert answer.status_code == 200
    return [each["query"] for each in answer.get_json()["examples"]]


def test_the_page_asks_for_those_of_an_index(client: FlaskClient) -> None:
    assert {"A cat", "Le chat"} <= set(offered_by(client, "pages"))


@pytest.mark.parametrize("index", ["", "absent", "pages-000001", "../pages"])
def test_an_index_that_is_not_listed_has_none(client: FlaskClient, index: str) -> None:
    assert offered_by(client, index) == []


def test_their_searches_are_not_logged_as_the_callers(
    settings: Settings, store: Store, embeddings: Embeddings, caplog: pytest.LogCaptureFixture
) -> None:
    app: Flask = create_app(settings, store, embeddings)
    with caplog.at_level(logging.INFO, "sinkrank"):
        assert offered_by(app.test_client(), "pages")
    (line,) = [record for record in caplog.records if record.name == "sinkrank.access"]
    assert "query" not in line.fields  # type: ignore[attr-defined]


def test_their_searches_give_their_slot_away_and_carry_nothing_of_the_caller(store: Store, tmp_path: Path) -> None:
    waited, headers = [], []

    @contextmanager
    def waiting(node: str) -> Iterator[None]:
        waited.append(node)
        yield

    def first_page(example: Example) -> list[int]:
        with waiting_for("node"):
            request = current_request()
            headers.append(None if request is None else dict(request.headers))
        return [1]

    set_current_request(RequestContext("one", {"X-Opaque-Id": "one"}, waiting=waiting))
    try:
        offered = Examples(store, tmp_path).of_index("pages", first_page)
    finally:
        set_current_request(None)
    assert waited == ["node"] * len(offered)
    assert headers == [{}] * len(offered)
    assert offered
