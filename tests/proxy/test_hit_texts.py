import json
from pathlib import Path
from typing import Any

import pytest

from reranker.query_dsl import name_patterns, source_texts
from reranker.query_dsl.source_texts import source_text, texts_and_keys
from reranker.text.exact_text import exact_key
from tests.support.fake_engine import FakeEngine, ok
from tests.support.service import MakeProxy
from tests.support.tiny import POSITIONS, write_embeddings


@pytest.mark.parametrize(
    ("source", "fields", "text"),
    [
        ({"a": "x", "b": ["y", {"c": "z"}], "n": 3, "f": None}, [], "x\ny\nz"),
        ({"a": "x", "b": "y"}, ["b"], "y"),
        ({"a": {"b": "x", "c": "y"}}, ["a.c"], "y"),
        ({"a": [{"b": "x"}, {"b": "y"}]}, ["a.b"], "x\ny"),
        ({"a.b": "x"}, ["a.b"], "x"),
        ({"a": "x"}, ["missing", "missing.a"], ""),
        ({"a": "x", "b": "y"}, ["a.english"], "x"),
        ({"a": "x", "b": "y"}, ["a.*"], "x"),
        ({"a": {"b": "x"}, "c": "y"}, ["a.*"], "x"),
        ({"doc_id": "cat", "a": "x"}, ["doc_id"], "cat"),
        (None, [], ""),
        ({}, [], ""),
    ],
)
def test_text_is_read_from_a_source(source: Any, fields: list[str], text: str) -> None:
    assert source_text(source, fields) == text


def test_a_source_without_end_is_cut() -> None:
    assert len(source_text({"a": ["word " * 40_000] * 100}, [])) == 80_000


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("*", "x\ny\nz"), ("a.*", "x\ny"), ("*.c", "y"), ("a*", "x\ny"), ("*d", "z"), ("b*", ""), ("a.b*c", "")],
)
def test_a_star_in_a_text_field_stands_for_any_part_of_its_path(pattern: str, text: str) -> None:
    assert source_text({"a": {"b": "x", "c": ["y"]}, "d": "z", "n": 1}, [pattern]) == text


@pytest.mark.parametrize(("n_lists", "text"), [(17, "x"), (18, ""), (900, "")])
def test_lists_within_lists_are_read_to_a_depth_of_17_and_stop_no_ranking(n_lists: int, text: str) -> None:
    source = json.loads(f'{{"a": {"[" * n_lists}{{"b": "x"}}{"]" * n_lists}, "c": {"[" * n_lists}"x"{"]" * n_lists}}}')
    assert source_text(source, ["a.b"]) == text
    assert source_text(source, ["c"]) == text
    assert source_text(source, ["c.english"]) == text


def test_all_stars_are_compared_with_each_path_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def is_match(pattern: str, name: str) -> bool:
        asked.append((pattern, name))
        return name_patterns.is_match(pattern, name)

    monkeypatch.setattr(source_texts, "is_match", is_match)
    source = {"ab": ["x", "y"], "b": "z"}
    assert texts_and_keys([source], ["*b", "b", "a*"])[0] == ["x\ny\nz\nz\nx\ny"]
    assert asked == [("*b", "ab"), ("a*", "ab"), ("*b", "b"), ("a*", "b")]


def test_the_id_that_ingest_writes_into_a_document_is_no_text_and_the_id_of_others_is() -> None:
    ours = {"doc_id": "chat", "id_hash": -5, "text": {"fr": "pain"}}
    assert source_text(ours, ()) == "pain"
    assert source_text({"doc_id": "chat", "text": "pain"}, ()) == "chat\npain"


def test_the_short_texts_of_the_named_fields_are_known_of_a_hit() -> None:
    source = {"title": "A cat", "parts": {"name": ["Big dog", "word " * 50]}, "kind": "pet"}
    (text,), (keys,) = texts_and_keys([source], ("title", "title", "parts.name"))
    assert text == "\n".join(["A cat", "A cat", "Big dog", "word " * 50])
    assert keys == {exact_key("a cat"), exact_key("big dog")}


def test_a_language_of_queries_alone_changes_nothing_for_a_search_in_the_language_of_the_documents(
    fake: FakeEngine, make_proxy: MakeProxy, tmp_path: Path
) -> None:
    texts = ["eau chien", "dog", "pain cat chat eau"]
    hits = [{"_index": "pages", "_id": text, "_score": 1.0, "_source": {"body": text}} for text in texts]
    found = json.dumps({"took": 1, "hits": {"total": {"value": 3, "relation": "eq"}, "hits": hits}}).encode()
    fake.answer = lambda received: ok(found)
    english = {"en": POSITIONS["en"]}
    alone = write_embeddings(tmp_path / "en", english)
    with_french = write_embeddings(tmp_path / "both", {**english, "fr": POSITIONS["fr"]}, mapped_languages=["fr"])
    search, in_french = (
        {"query": {"match": {"body": "cat"}}, "ext": {"rerank": {"details": True, **named}}}
        for named in ({}, {"languages": ["fr"], "translate": False})
    )
    before, after, named = (
        make_proxy(embeddings).test_client().post("/pages/_search", json=body).get_json()["hits"]["hits"]
        for embeddings, body in [(alone, search), (with_french, search), (with_french, in_french)]
    )
    assert before == after
    # In English one has the query as its only word, one has no known word, and the farthest has as little evidence.
    assert [hit["_id"] for hit in after] == ["pain cat chat eau", "eau chien", "dog"]
    assert [hit["_rerank"]["without_known_word"] for hit in after] == [False, True, False]
    # Who names the documents' languages has them read in these.
    assert not any(hit["_rerank"]["without_known_word"] for hit in named)
