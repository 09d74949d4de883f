"""Marks by meaning in a search's `highlight`, before an engine that answers what a test gives it.

The tiny embeddings: chat is at cosine 0.96 from cat and 0.936 from dog, cat at 0.96 from chat and 0.6 from chien.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from reranker.query_dsl.source_texts import named_strings
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.service import MakeProxy

QUERY = {"match": {"body": "cat"}}

Search = Callable[..., dict[str, Any]]


@pytest.fixture
def search(fake: FakeEngine, make_proxy: MakeProxy) -> Search:
    """From a document, the engine's marks in it, and a search to the answered `highlight`."""
    client = make_proxy().test_client()

    def searched(
        source: dict[str, Any] | None,
        marks: dict[str, list[str]] | None = None,
        highlight: Any = None,
        mode: Any = None,
        looked_up: dict[str, Any] | None = None,
        **body: Any,
    ) -> Any:
        def answer(received: Received) -> bytes:
            is_look_up = "ids" in json.loads(received.body).get("query", {})
            hit: dict[str, Any] = {"_index": "pages", "_id": "1", "_score": 1.0}
            found = looked_up if is_look_up else source
            hit |= {} if found is None else {"_source": found}
            hit |= {} if marks is None or is_look_up else {"highlight": marks}
            other = {"_index": "pages", "_id": "2", "_score": 0.5, "_source": {"body": "bread"}}
            return ok(json.dumps({"took": 1, "hits": {"max_score": 1.0, "hits": [hit, other]}}).encode())

        fake.answer = answer
        section = {"language": "en", **({} if mode is None else {"highlight": mode})}
        asked = {"query": QUERY, "highlight": highlight or {"fields": {"body": {}}}, "ext": {"rerank": section}, **body}
        got = client.post("/pages/_search", json=asked)
        if got.status_code != 200:
            return got.get_json()["error"]["reason"]
        assert got.headers["X-Rerank-Status"] == "applied", got.text
        return next(hit for hit in got.get_json()["hits"]["hits"] if hit["_id"] == "1").get("highlight")

    return searched


def test_a_hit_in_another_language_shows_the_words_that_translate_the_querys(search: Search) -> None:
    assert search({"body": "un chat noir"}) == {"body": ["un <em>chat</em> noir"]}
    assert search({"body": "un pain"}) is None


def test_the_engines_fragments_stay_and_words_near_to_others_are_marked_in_them(search: Search) -> None:
    """cat is not in the text, and chat is nearest to it; chien is too far behind."""
    marks = {"body": ["a <em>bread</em>, un chat, un chien"]}
    query = {"match": {"body": "bread cat"}}
    source = {"body": "a bread, un chat, un chien. More."}
    assert search(source, marks, query=query) == {"body": ["a <em>bread</em>, un <em>chat</em>, un chien"]}
    assert search(source, marks, query=query, mode="engine") == marks


def test_a_second_pair_of_tags_tells_near_words(search: Search) -> None:
    near = {"pre_tags": ["<i>"], "post_tags": ["</i>"]}
    assert search({"body": "qqq chat"}, mode=near, query={"match": {"body": "qqq cat"}}) == {
        "body": ["<em>qqq</em> <i>chat</i>"]
    }


def test_by_meaning_the_fragments_are_made_anew_with_the_engines_marks_in_them(search: Search) -> None:
    """The engine marks a stop word too."""
    source = {"body": "Nothing. The dog sat. Un chat dort."}
    marks = {"body": ["<em>The</em> <em>dog</em> sat."]}
    form = {"fields": {"body": {"fragment_size": 15, "number_of_fragments": 2}}}
    query = {"match": {"body": "the dog cat"}}
    assert search(source, marks, form, "meaning", query=query) == {
        "body": ["<em>The</em> <em>dog</em> sat.", "Un <em>chat</em> dort."]
    }
    assert search(source, marks, form, "both", query=query) == marks


def test_values_are_fragments_of_their_own(search: Search) -> None:
    source = {"body": ["un chat", "un pain", "deux chat"]}
    form = {"fields": {"body": {"number_of_fragments": 0}}}
    assert search(source, highlight=form) == {"body": ["un <em>chat</em>", "deux <em>chat</em>"]}


def test_html_is_escaped_as_the_caller_asks(search: Search) -> None:
    source = {"body": "<script>chat</script> & co"}
    assert search(source) == {"body": ["<script><em>chat</em></script> & co"]}
    assert search(source, highlight={"encoder": "html", "fields": {"body": {}}}) == {
        "body": ["&lt;script&gt;<em>chat</em>&lt;&#x2F;script&gt; &amp; co"]
    }


def test_escapes_are_no_words(search: Search) -> None:
    marks = {"body": ["x &amp; <em>cat</em> &#x27;dog&#x27;"]}
    form = {"encoder": "html", "fields": {"body": {}}}
    query = {"match": {"body": "cat amp x27"}}
    assert search({"body": "x & cat 'dog'"}, marks, form, query=query) == marks


def test_a_fragment_without_marks_gives_way(search: Search) -> None:
    """By `no_match_size` the engine answers with the beginning of a field."""
    assert search({"body": "Long. Un chat."}, {"body": ["Long."]}, {"fields": {"body": {"fragment_size": 8}}}) == {
        "body": ["Un <em>chat</em>."]
    }
    assert search({"body": "Long. Un pain."}, {"body": ["Long."]}) == {"body": ["Long."]}


def test_fields_that_the_query_does_not_search_are_marked_where_the_caller_says_so(search: Search) -> None:
    source = {"body": "un chat", "title": "Chat"}
    both = {"body": {}, "title": {}}
    assert search(source, highlight={"fields": both}) == {"body": ["un <em>chat</em>"]}
    assert search(source, highlight={"fields": both, "require_field_match": False}) == {
        "body": ["un <em>chat</em>"],
        "title": ["<em>Chat</em>"],
    }
    two = {"multi_match": {"query": "cat", "fields": ["body", "title^2"]}}
    assert set(search(source, highlight={"fields": both}, query=two)) == {"body", "title"}


def test_patterns_and_fields_within_fields(search: Search) -> None:
    source = {"parts": [{"body": "un chat"}, {"body": "le chat"}], "body": "chat", "n": 1}
    every = {"query_string": {"query": "cat"}}
    found = search(source, highlight={"fields": {"*body": {}}}, query=every)
    assert found == {"parts.body": ["un <em>chat</em>", "le <em>chat</em>"], "body": ["<em>chat</em>"]}
    assert search({"body": "un chat"}, highlight={"fields": {"body.en": {}}}, query={"match": {"body.en": "cat"}}) == {
        "body.en": ["un <em>chat</em>"]
    }


def test_a_field_with_a_query_of_its_own_is_the_engines(search: Search) -> None:
    form = {"fields": {"body": {"highlight_query": {"match": {"body": "dog"}}}}}
    assert search({"body": "un chat"}, highlight=form) is None


def test_whole_chunks_of_a_semantic_field_are_the_engines(search: Search) -> None:
    """Elasticsearch gives them without marks, as texts for a language model."""
    chunks = {"body": ["un chat", "le chien"]}
    assert search({"body": "un chat"}, chunks, {"fields": {"body": {"type": "semantic"}}}) == chunks


def test_texts_that_source_keeps_back_are_looked_up_once(search: Search, fake: FakeEngine) -> None:
    """For the bags, and for the marks: the marks' look-up names the fields and the hits of the page alone."""
    assert search(None, _source=False, looked_up={"body": "un chat"}) == {"body": ["un <em>chat</em>"]}
    asked = [json.loads(one.body) for one in fake.received]
    assert asked[-1]["_source"] == ["body"]
    fake.received.clear()
    marks = {"body": ["un <em>cat</em>"]}
    assert search(None, marks, _source=False, looked_up={"body": "un cat"}) == marks
    assert ["body"] not in [json.loads(one.body).get("_source") for one in fake.received]


def test_a_search_without_highlight_looks_for_no_marks(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reranker.proxy.highlights.find_marks", lambda *_: pytest.fail("marks were looked for"))
    assert search({"body": "un chat"}, highlight={"fields": {}}) is None
    assert search({"body": "un chat"}, mode="engine") is None


def test_a_marking_that_fails_leaves_the_engines_marks_and_the_ranking(
    search: Search, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("no marks")

    monkeypatch.setattr("reranker.proxy.highlights.find_marks", fail)
    marks = {"body": ["<em>cat</em> chat"]}
    assert search({"body": "cat chat"}, marks) == marks
    assert "hits are marked by the engine alone (highlights_failed): ValueError: no marks" in caplog.text


def test_fields_are_read_where_the_time_limit_counts(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    def named(*value: Any) -> Any:
        threads.add(threading.current_thread().name.rpartition("_")[0])
        return named_strings(*value)

    monkeypatch.setattr("reranker.proxy.highlights.named_strings", named)
    assert search({"body": "un chat"}, highlight={"fields": {"bod*": {}}}) == {"body": ["un <em>chat</em>"]}
    assert threads == {"proxy-rerank"}


def test_half_a_surrogate_pair_in_a_hit_is_marked_in_a_window_without_texts_too(
    fake: FakeEngine, make_proxy: MakeProxy
) -> None:
    """The page of an ids-only window is read member by member. The third search has such a window."""
    texts = [r"cat chat \ud83d", "chat", "dog", "bread"]

    def answer(received: Received) -> bytes:
        body = json.loads(received.body)
        named = body["query"].get("bool", {}).get("filter", [body["query"]])[0].get("terms", {}).get("_seq_no")
        hits = []
        for number, text in enumerate(texts):
            if named is None or number in named:
                hit = f'{{"_index":"pages","_id":"{number}","_score":{9 - number},"_seq_no":{number},"_primary_term":1'
                hits.append(hit + ("}" if "stored_fields" in body else f',"_source":{{"body":"{text}"}}}}'))
        return ok(f'{{"_shards":{{"total":1}},"hits":{{"max_score":9,"hits":[{",".join(hits)}]}}}}'.encode())

    fake.answer = answer
    client = make_proxy().test_client()
    body = {"query": QUERY, "highlight": {"fields": {"body": {}}}, "size": 1, "ext": {"rerank": {"language": "en"}}}
    for _ in range(3):
        fake.received.clear()
        got = client.post("/pages/_search", json=body)
        assert got.headers["X-Rerank-Status"] == "applied"
        assert r'"highlight":{"body":["<em>cat</em> <em>chat</em> \ud83d"]}' in got.text
    assert [json.loads(one.body).get("stored_fields") for one in fake.received] == ["_none_", None]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("all", "'highlight.mode': input should be 'engine', 'both' or 'meaning'; got \"all\""),
        ({"mode": 1}, "'highlight.mode': input should be 'engine', 'both' or 'meaning'; got 1"),
        ({"pre_tags": ["<i>"]}, "pre_tags"),
        ({"pre_tags": "<i>", "post_tags": "</i>"}, "'highlight.pre_tags': input should be a valid list"),
        (None, "'highlight'"),
    ],
)
def test_a_wrong_section_is_refused(search: Search, section: Any, message: str) -> None:
    body = {"ext": {"rerank": {"highlight": section}}}
    reason = search({"body": "un chat"}, **body)
    assert reason.startswith("ext.rerank")
    assert message in reason
