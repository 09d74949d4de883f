"""The queries that the page offers for an index."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from reranker.base.errors import StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.service.examples import Example, Examples, write_examples
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document
from tests.service.conftest import fill


def test_titles_of_two_to_eight_words_are_offered_each_once_in_turn_of_each_language(
    embeddings: Embeddings, tmp_path: Path
) -> None:
    documents = [
        Document("1", "cat", "en", title="One"),
        Document("2", "cat", "en", title="A  cat"),
        Document("3", "cat", "en", title="a cat"),
        Document("4", "dog", "en", title="A dog"),
        Document("5", "dog", "en", title="one two three four five six seven eight nine"),
        Document("6", "chat", "fr", title="Le chat"),
        Document("7", "water", "en"),
    ]
    with closing(open_store(str(tmp_path / "store"))) as store:
        fill(store, embeddings, "pages", documents)
        offered = Examples(store, tmp_path).of_index("pages")
    assert [(each.query, each.language, each.target) for each in offered] == [
        ("A cat", "en", ""),
        ("Le chat", "fr", ""),
        ("A dog", "en", ""),
    ]


def test_five_are_offered_at_most_and_read_once(store: Store, embeddings: Embeddings, tmp_path: Path) -> None:
    fill(store, embeddings, "many", [Document(str(n), "cat", "en", title=f"cat {n}") for n in range(9)])
    examples = Examples(store, tmp_path)
    offered = examples.of_index("many")
    store.drop("many")
    assert len(offered) == 5
    assert examples.of_index("many") == offered


def test_those_of_the_file_go_before_titles(store: Store, tmp_path: Path) -> None:
    write_examples(tmp_path, "other", [Example("dog", "en")])
    write_examples(tmp_path, "pages", [Example("chat noir", "fr", "en")])
    assert Examples(store, tmp_path).of_index("pages") == (Example("chat noir", "fr", "en"),)
    assert set(json.loads((tmp_path / "examples.json").read_text())) == {"other", "pages"}


@pytest.mark.parametrize("text", ["", "[]", '{"pages": 1}', '{"pages": [{"query": "cat", "file": "/etc/passwd"}]}'])
def test_a_broken_file_offers_nothing_and_titles_stand_in(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / "examples.json").write_text(text)
    assert [each.query for each in Examples(store, tmp_path).of_index("pages")] == ["Le chat", "A cat"]


def test_a_store_that_does_not_answer_offers_none(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(index: str) -> None:
        raise StoreUnavailable("no node")

    monkeypatch.setattr(store, "bags", down)
    assert Examples(store, tmp_path).of_index("pages") == ()


def test_the_page_holds_them(client: FlaskClient) -> None:
    page = client.get("/-/ui").text
    assert 'data-index="pages"' in page
    assert ">A cat</button>" in page
