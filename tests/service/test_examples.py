"""The queries that the page offers for an index."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from reranker.answers.page import Example
from reranker.base.errors import StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.service.examples import examples_of, write_examples
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document
from tests.support.service import fill


def offered(store: Store, home: Path, index: str = "pages") -> list[Example]:
    return examples_of(store, index, home, has_titles=True)


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
        found = offered(store, tmp_path)
    assert all(each.target == "" for each in found)
    by_language = {code: {each.query for each in found if each.language == code} for code in ("en", "fr")}
    assert by_language == {"en": {"A cat", "A dog"}, "fr": {"Le chat", "chien eau."}}
    languages = [each.language for each in found]
    assert languages[0] != languages[1]
    assert languages[2] != languages[3]


def test_20_titles_are_offered_for_the_page_to_choose_from(
    store: Store, embeddings: Embeddings, tmp_path: Path
) -> None:
    fill(store, embeddings, "many", [Document(str(n), "cat", "en", title=f"cat {n}") for n in range(30)])
    found = offered(store, tmp_path, "many")
    assert len({each.query for each in found}) == len(found) == 20


def test_those_of_the_file_go_before_titles(store: Store, tmp_path: Path) -> None:
    write_examples(tmp_path, "other", [Example("dog", "en")])
    write_examples(tmp_path, "pages", [Example("chat noir", "fr", "en")])
    assert offered(store, tmp_path) == [Example("chat noir", "fr", "en")]
    assert set(json.loads((tmp_path / "examples.json").read_text())) == {"other", "pages"}


def test_the_first_five_of_the_file_are_offered_even_where_no_titles_may_be(store: Store, tmp_path: Path) -> None:
    written = [Example(f"cat {n}", "en") for n in range(6)]
    write_examples(tmp_path, "pages", written)
    assert examples_of(store, "pages", tmp_path, has_titles=False) == written[:5]
    assert examples_of(store, "other", tmp_path, has_titles=False) == []


@pytest.mark.parametrize("text", ["", "[]", '{"pages": 1}', '{"pages": [{"query": "cat", "file": "/etc/passwd"}]}'])
def test_a_broken_file_offers_nothing_and_titles_stand_in(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / "examples.json").write_text(text)
    assert {each.query for each in offered(store, tmp_path)} >= {"Le chat", "A cat"}


def test_a_store_that_does_not_answer_offers_none(tmp_path: Path) -> None:
    class Down:
        def open(self, index: str) -> None:
            raise StoreUnavailable("no node")

    assert offered(Down(), tmp_path) == []  # type: ignore[arg-type]


def offered_by(client: FlaskClient, index: str) -> list[str]:
    answer = client.get("/-/ui/examples", query_string={"index": index})
    assert answer.status_code == 200
    return [each["query"] for each in answer.get_json()["examples"]]


def test_the_page_asks_for_those_of_an_index(client: FlaskClient) -> None:
    assert {"A cat", "Le chat"} <= set(offered_by(client, "pages"))


@pytest.mark.parametrize("index", ["", "absent", "pages-000001", "../pages"])
def test_an_index_that_is_not_listed_has_none(client: FlaskClient, index: str) -> None:
    assert offered_by(client, index) == []
