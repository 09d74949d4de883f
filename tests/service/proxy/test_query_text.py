import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.service.proxy.query_text import find_query_text, plain_words

MATCH = {"match": {"text": "wool cap"}}
OTHER = {"match": {"title": "red"}}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (MATCH, "wool cap"),
        ({"match": {"text": {"query": "wool cap", "operator": "and", "analyzer": "standard"}}}, "wool cap"),
        ({"match_phrase": {"text": {"query": "wool cap", "slop": 2}}}, "wool cap"),
        ({"match_phrase_prefix": {"text": "wool ca"}}, "wool ca"),
        ({"match_bool_prefix": {"text": {"query": "wool ca"}}}, "wool ca"),
        ({"multi_match": {"query": "wool cap", "fields": ["title^2", "text"], "type": "best_fields"}}, "wool cap"),
        ({"combined_fields": {"query": "wool cap", "fields": ["title"]}}, "wool cap"),
        ({"query_string": {"query": "title:wool AND cap", "default_field": "text"}}, "wool cap"),
        ({"simple_query_string": {"query": '"wool cap" -hat', "fields": ["text"]}}, '"wool cap"'),
        ({"bool": {"must": [MATCH], "should": OTHER}}, "wool cap red"),
        ({"bool": {"must": MATCH, "filter": [OTHER], "must_not": [OTHER]}}, "wool cap"),
        ({"bool": {"should": [MATCH, {"match": {"title": "wool cap"}}], "minimum_should_match": 1}}, "wool cap"),
        ({"bool": {"must": {"bool": {"should": [OTHER]}}}}, "red"),
        ({"bool": {"filter": [MATCH]}}, None),
        ({"hybrid": {"queries": [MATCH, {"neural": {"v": {"query_text": "wool cap", "k": 5}}}]}}, "wool cap"),
        ({"neural": {"v": {"query_text": "wool", "query_image": "aGk=", "model_id": "m"}}}, "wool"),
        ({"neural_sparse": {"v": {"query_text": "wool"}}}, "wool"),
        ({"text_expansion": {"v": {"model_id": "m", "model_text": "wool"}}}, "wool"),
        ({"sparse_vector": {"field": "v", "inference_id": "m", "query": "wool"}}, "wool"),
        ({"semantic": {"field": "v", "query": "wool"}}, "wool"),
        ({"knn": {"v": {"vector": [0.1, 0.2], "k": 3}}}, None),
        ({"dis_max": {"queries": [MATCH, OTHER], "tie_breaker": 0.7}}, "wool cap red"),
        ({"function_score": {"query": MATCH, "functions": [{"filter": OTHER, "weight": 2}]}}, "wool cap"),
        ({"script_score": {"query": MATCH, "script": {"source": "_score"}}}, "wool cap"),
        ({"constant_score": {"filter": MATCH}}, "wool cap"),
        ({"boosting": {"positive": MATCH, "negative": OTHER, "negative_boost": 0.5}}, "wool cap"),
        ({"nested": {"path": "parts", "query": MATCH}}, "wool cap"),
        ({"pinned": {"ids": ["1"], "organic": MATCH}}, "wool cap"),
        ({"match_all": {}}, None),
        ({"term": {"lang": "en"}}, None),
        ({"ids": {"values": ["wool"]}}, None),
        ({"prefix": {"text": "wool"}}, None),
        ({"match": {"year": 1999}}, None),
        ({"match": {"text": "   "}}, None),
        ({"match": None}, None),
        (None, None),
        ("wool", None),
    ],
)
def test_the_text_is_read_from_what_scores(query: Any, text: str | None) -> None:
    assert find_query_text({"query": query, "size": 3}) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, None),
        ({"knn": {"field": "v", "query_vector_builder": {"text_embedding": {"model_text": "wool"}}}}, "wool"),
        ({"knn": [{"field": "v", "query_vector": [1]}], "query": MATCH}, "wool cap"),
        ({"retriever": {"standard": {"query": MATCH}}}, "wool cap"),
        ({"retriever": {"rrf": {"retrievers": [{"standard": {"query": MATCH}}, {"knn": {"field": "v"}}]}}}, "wool cap"),
        ({"retriever": {"linear": {"retrievers": [{"retriever": {"standard": {"query": OTHER}}}]}}}, "red"),
        ({"aggs": {"a": {"filter": MATCH}}, "post_filter": MATCH}, None),
    ],
)
def test_the_text_is_read_from_other_parts_of_the_body(body: dict[str, Any], text: str | None) -> None:
    assert find_query_text(body) == text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("wool cap", "wool cap"),
        ("title:wool", "wool"),
        ('title:"wool cap"~2', '"wool cap"'),
        ("title.fr:wool OR cap^2.5", "wool cap"),
        ("+wool -hat !scarf cap", "+wool cap"),
        ("wool NOT hat", "wool"),
        ("wool NOT title:hat", "wool"),
        ("wool -(hat scarf)", "wool"),
        ("well-known cap", "well-known cap"),
        ("wo?l ca* cap", "cap"),
        ("*:*", ""),
        ("*", ""),
        ("year:[1999 TO 2005] wool", "wool"),
        ("wool~1", "wool"),
        ("(wool AND cap) OR hat", "(wool cap) hat"),
        ("/wo+l/ cap", "cap"),
        ("νερό AND ψωμί", "νερό ψωμί"),
    ],
)
def test_query_syntax_is_taken_out(query: str, words: str) -> None:
    assert plain_words(query) == words


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["query", "bool", "must", "match", "text", "knn", "retriever", "hybrid", "queries"]), inner
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(["query", "knn", "retriever"]), json_values))
def test_no_body_breaks_it(body: dict[str, Any]) -> None:
    text = find_query_text(body)
    assert text is None or text.strip()


def test_a_query_that_is_nested_without_end_is_given_up() -> None:
    query: dict[str, Any] = MATCH
    for _ in range(500):
        query = {"bool": {"must": query}}
    assert find_query_text({"query": query}) is None


@pytest.mark.parametrize("part", ["1.a", "a", "[", " -(", ' -"a', '\\"', "^", "NOT ", "(-a", " /", "a:", "*a"])
def test_no_query_syntax_takes_long_to_read(part: str) -> None:
    started = time.thread_time()
    plain_words(part * 20_000)
    assert time.thread_time() - started < 1.0  # some 10 ms; 1.a took half a minute
