import json
from typing import Any

import pytest

from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION
from reranker.proxy.hit_texts import HitTexts
from reranker.query_dsl.source_texts import source_text, texts_and_keys
from reranker.service.text_bags import TextBags
from reranker.text.exact_text import exact_key
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.service import MakeProxy


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


def test_the_id_that_ingest_writes_into_a_document_is_no_text_and_the_id_of_others_is() -> None:
    ours = {"doc_id": "chat", "id_hash": -5, "text": {"fr": "pain"}}
    assert source_text(ours, ()) == "pain"
    assert source_text({"doc_id": "chat", "text": "pain"}, ()) == "chat\npain"


def test_the_short_texts_of_the_named_fields_are_known_of_a_hit() -> None:
    source = {"title": "A cat", "parts": {"name": ["Big dog", "word " * 50]}, "kind": "pet"}
    (text,), (keys,) = texts_and_keys([source], ("title", "title", "parts.name"))
    assert text == "\n".join(["A cat", "A cat", "Big dog", "word " * 50])
    assert keys == {exact_key("a cat"), exact_key("big dog")}


def test_a_text_that_was_looked_up_is_looked_up_again_after_five_minutes_of_searches(
    embeddings: Embeddings, make_proxy: MakeProxy, fake: FakeEngine
) -> None:
    now, texts = [0.0], ["cat bread", "dog", "chien"]

    def answer(received: Received) -> bytes:
        is_look_up = "ids" in json.loads(received.body)["query"]
        found = [
            {"_index": "pages", "_id": str(n), "_score": 9.0 - n, "_seq_no": n, "_primary_term": 1}
            | {"_source": {"t": text, "n": n} if is_look_up else {"n": n}}
            for n, text in enumerate(texts)
        ]
        shards = {"total": 1, "successful": 1, "failed": 0}
        return ok(json.dumps({"took": 1, "_shards": shards, "hits": {"max_score": 9.0, "hits": found}}).encode())

    fake.answer = answer
    app = make_proxy()
    proxy = app.extensions[PROXY_EXTENSION]
    read = TextBags(embeddings)
    proxy.ranking.ranker.texts = HitTexts(embeddings, lambda index: False, read, lambda: now[0])
    body = {"query": {"match": {"t": "cat"}}, "size": 3, "_source": {"excludes": ["t"]}}
    n_requests = []
    for now[0] in (0.0, 200.0, 299.0, 301.0):
        fake.received.clear()
        answered = app.test_client().post("/pages/_search", json=body)
        assert answered.headers["X-Rerank-Status"] == "applied"
        n_requests.append(len(fake.received))
    assert n_requests == [2, 1, 1, 2]
