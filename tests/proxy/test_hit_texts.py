import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION
from reranker.proxy.hit_texts import HitTexts
from reranker.query_dsl.source_texts import source_text
from reranker.service.settings import Settings
from reranker.service.text_bags import TextBags
from reranker.text.bags import BagOfWords, pack
from reranker.text.exact_text import exact_key
from tests.support.fake_engine import FakeEngine, Received, ok


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


def reader_of(embeddings: Embeddings) -> HitTexts:
    return HitTexts(embeddings, lambda index: True, TextBags(embeddings))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("*", "x\ny\nz"), ("a.*", "x\ny"), ("*.c", "y"), ("a*", "x\ny"), ("*d", "z"), ("b*", ""), ("a.b*c", "")],
)
def test_a_star_in_a_text_field_stands_for_any_part_of_its_path(pattern: str, text: str) -> None:
    assert source_text({"a": {"b": "x", "c": ["y"]}, "d": "z", "n": 1}, [pattern]) == text


def test_a_packed_bag_is_taken_before_the_text(embeddings: Embeddings) -> None:
    reader = reader_of(embeddings)
    source = {"bag": pack(embeddings.bag("chat chat eau", "fr")), "lang": "fr", "text": {"fr": "pain"}}
    ours = reader.packed_bag(source)
    assert ours is not None
    assert (ours[0].term_ids.tolist(), ours[0].counts.tolist(), ours[1]) == ([5, 7], [2, 1], "fr")
    ((theirs, language),) = reader.source_bags([source], ())
    assert (theirs.term_ids.tolist(), language) == ([8], "fr")  # the packed text is no text


def test_the_id_that_ingest_writes_into_a_document_is_no_text_and_the_id_of_others_is() -> None:
    ours = {"doc_id": "chat", "id_hash": -5, "text": {"fr": "pain"}}
    assert source_text(ours, ()) == "pain"
    assert source_text({"doc_id": "chat", "text": "pain"}, ()) == "chat\npain"


@pytest.mark.parametrize("packed", ["", "no base64!", "AAAA", 7, None])
def test_a_bag_that_is_broken_is_none(embeddings: Embeddings, packed: Any) -> None:
    assert reader_of(embeddings).packed_bag({"bag": packed, "lang": "en", "text": "cat"}) is None


def test_term_ids_beyond_the_embeddings_are_not_believed(embeddings: Embeddings) -> None:
    wild = pack(BagOfWords(np.array([3, 10], np.int32), np.array([1, 1], np.int32)))
    assert reader_of(embeddings).packed_bag({"bag": wild, "lang": "en", "text": "cat"}) is None


def test_a_text_is_read_once(embeddings: Embeddings) -> None:
    reader = HitTexts(embeddings, lambda index: False, TextBags(embeddings))
    (first,) = reader.source_bags([{"a": "chat eau"}], ())
    assert reader.source_bags([{"b": ["chat eau"]}], ())[0] is first


def test_the_short_texts_of_the_named_fields_are_known_of_a_hit(embeddings: Embeddings) -> None:
    reader = reader_of(embeddings)
    source = {"title": "A cat", "parts": {"name": ["Big dog", "word " * 50]}, "kind": "pet"}
    ((bag, _),) = reader.source_bags([source], ("title", "title", "parts.name"))
    assert bag.exact_keys == {exact_key("a cat"), exact_key("big dog")}
    assert reader.source_bags([source], ())[0][0].exact_keys == frozenset()


def test_a_text_that_was_looked_up_is_looked_up_again_after_five_minutes_of_searches(
    embeddings: Embeddings, tmp_path: Path, fake: FakeEngine
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
    app = create_app(Settings(home=tmp_path, threads=1, store=fake.url), None, embeddings)
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


def test_what_ranking_keeps_of_a_bag_is_there_again_where_its_short_texts_come_from_the_source(
    embeddings: Embeddings,
) -> None:
    reader = reader_of(embeddings)
    source = {"bag": pack(embeddings.bag("chat eau", "fr")), "lang": "fr", "title": "Un chat"}
    found = reader.packed_bag(source, (), ("title",))
    assert found is not None
    assert found[0].exact_keys == {exact_key("un chat")}
    assert reader.packed_bag(dict(source), (), ("title",)) is found
    assert reader.packed_bag(source) is not found
