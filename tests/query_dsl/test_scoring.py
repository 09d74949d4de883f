"""What each kind of query is read as: text of a person, a filter, autocomplete, or the caller's own scoring."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from reranker.query_dsl.clauses import REASONS
from reranker.query_dsl.scoring import FieldType, QueryReading, no_field_types, read_query

MATCH = {"match": {"text": "wool cap"}}
SAME = {"match": {"title": "wool cap"}}
OTHER = {"match": {"title": "red"}}
TERM = {"term": {"lang": "en"}}
KNN = {"knn": {"field": "v", "query_vector": [1], "num_candidates": 50}}  # Elasticsearch's
SCRIPT = {"script": {"source": "_score * doc['n'].value"}}

# Texts and keywords of an index, by the first letters of their names.
TEXT, KEYWORD = ("te", "ti", "parts.body"), ("lang", "status", "sku", "title.keyword")


class Mapped:
    """A mapping with the fields above; it notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, names: Collection[str]) -> Mapping[str, FieldType]:
        self.asked += names
        return {
            name: FieldType(name.startswith(TEXT) and name not in KEYWORD, name.split(".")[0])
            for name in names
            if name.startswith((*TEXT, *KEYWORD))
        }


def read(query: Any, **more: Any) -> QueryReading:
    return read_query({"query": query, "size": 3, **more}, {}, no_field_types)


def mapped(query: Any, is_asked: bool = False, **parameters: str) -> QueryReading:
    return read_query({"query": query}, parameters, Mapped(), is_asked)


def fields(reading: QueryReading) -> str:
    return " ".join(f"{name}^{boost:g}" for name, boost in reading.fields)


def bool_(**parts: Any) -> dict[str, Any]:
    return {"bool": parts}


def wrapped(query: Any) -> dict[str, Any]:
    """As many programs write base64, which the engines read: in lines of 76 characters."""
    return {"wrapper": {"query": base64.encodebytes(json.dumps(query).encode()).decode()}}


# Every kind that the engines register: OpenSearch 2.19 and 3.5, Elasticsearch 8.15, with their plugins' and modules'.
BY_TEXT: dict[str, Any] = {
    "match": MATCH,
    "match_phrase": {"match_phrase": {"text": {"query": "wool cap", "slop": 2}}},
    "common": {"common": {"text": {"query": "wool cap", "cutoff_frequency": 0.001}}},
    "multi_match": {"multi_match": {"query": "wool cap", "fields": ["text", "title^5"], "type": "cross_fields"}},
    "combined_fields": {"combined_fields": {"query": "wool cap", "fields": ["text"]}},
    "query_string": {"query_string": {"query": "wool AND cap", "default_field": "text"}},
    "simple_query_string": {"simple_query_string": {"query": "wool + cap -hat", "fields": ["text"]}},
    "flags of a Java client": {"simple_query_string": {"query": "wool + cap -hat", "fields": ["text"], "flags": -1}},
    "flags for no operator": {"simple_query_string": {"query": "wool cap", "fields": ["text"], "flags": "NOT"}},
    "intervals": {
        "intervals": {"text": {"all_of": {"intervals": [{"match": {"query": "wool"}}, {"match": {"query": "cap"}}]}}}
    },
    "bool": bool_(must=MATCH, filter=[TERM], must_not=[OTHER]),
    "dis_max": {"dis_max": {"queries": [MATCH, SAME], "tie_breaker": 0.7}},
    "nested": {"nested": {"path": "parts", "query": MATCH, "score_mode": "max"}},
    "hybrid": {"hybrid": {"queries": [MATCH, {"neural": {"v": {"query_text": "wool cap", "k": 5}}}]}},
    "neural": {"neural": {"v": {"query_text": "wool cap", "model_id": "m"}}},
    "neural_sparse": {"neural_sparse": {"v": {"query_text": "wool cap"}}},
    "text_expansion": {"text_expansion": {"v": {"model_id": "m", "model_text": "wool cap"}}},
    "sparse_vector": {"sparse_vector": {"field": "v", "inference_id": "m", "query": "wool cap"}},
    "semantic": {"semantic": {"field": "v", "query": "wool cap"}},
    "knn with a text": {
        "knn": {"field": "v", "k": 3, "query_vector_builder": {"text_embedding": {"model_text": "wool cap"}}}
    },
    "function_score without functions": {"function_score": {"query": MATCH, "functions": [], "boost": 2}},
    "more_like_this": {"more_like_this": {"fields": ["text"], "like": "wool cap"}},
    "wrapper": {"wrapper": {"query": "eyJtYXRjaCI6IHsidGV4dCI6ICJ3b29sIGNhcCJ9fQ=="}},
    "a wrapper in several lines": wrapped(bool_(must=[MATCH], filter=[TERM, TERM])),
    "span_term": {"span_term": {"text": "wool cap"}},
    "span_near": {"span_near": {"clauses": [{"span_term": {"text": "wool cap"}}], "slop": 2}},
    "span_or": {"span_or": {"clauses": [{"span_term": {"text": {"value": "wool cap"}}}]}},
    "span_not": {"span_not": {"include": {"span_term": {"text": "wool cap"}}, "exclude": {"span_term": {"text": "x"}}}},
    "span_first": {"span_first": {"match": {"span_term": {"text": "wool cap"}}, "end": 3}},
    "span_containing": {"span_containing": {"big": {"span_term": {"text": "wool cap"}}, "little": {}}},
    "span_within": {"span_within": {"big": {}, "little": {"span_term": {"text": "wool cap"}}}},
    "span_field_masking": {"span_field_masking": {"query": {"span_term": {"text.stems": "wool cap"}}, "field": "text"}},
}
# What Searchkit sends: the same text as words, as a phrase, and with a last word that may be half typed.
BY_TEXT["a match that finds more by a prefix"] = bool_(
    should=[
        bool_(
            should=[
                {"multi_match": {"query": "wool cap", "fields": ["title^3", "text"], "fuzziness": "AUTO:4,8"}},
                {"multi_match": {"query": "wool cap", "fields": ["title^1.5", "text"], "type": "bool_prefix"}},
            ]
        ),
        {"multi_match": {"query": "wool cap", "fields": ["title^6", "text"], "type": "phrase"}},
    ]
)
FILTERS: dict[str, Any] = {
    "term": TERM,
    "terms": {"terms": {"lang": ["en", "fr"]}},
    "range": {"range": {"n": {"gte": 3}}},
    "exists": {"exists": {"field": "title"}},
    "ids": {"ids": {"values": ["wool"]}},
    "wildcard": {"wildcard": {"sku": "a*b"}},
    "regexp": {"regexp": {"sku": "a.b"}},
    "fuzzy": {"fuzzy": {"sku": "wol"}},
    "script": {"script": SCRIPT},
    "constant_score": {"constant_score": {"filter": MATCH}},
    "match_none": {"match_none": {}},
    "parent_id": {"parent_id": {"type": "c", "id": "1"}},
    "has_child": {"has_child": {"type": "c", "query": MATCH}},
    "has_parent": {"has_parent": {"parent_type": "p", "query": MATCH}},
    "nested without score": {"nested": {"path": "parts", "query": MATCH, "score_mode": "none"}},
    "bool of filters": bool_(filter=[MATCH], must_not=[OTHER]),
    "bool with match_all": bool_(must={"match_all": {}}, filter=MATCH),
    "a choice of filters": bool_(should=[TERM, {"term": {"lang": "fr"}}]),
    "match on a boost of 0": {"match": {"text": {"query": "wool", "boost": 0}}},
    "query_string": {"query_string": {"query": "_exists_:title AND year:[1 TO 2]"}},
    **{
        kind: {kind: {"place": {}}}
        for kind in ("geo_bounding_box", "geo_distance", "geo_grid", "geo_polygon", "geo_shape", "shape", "xy_shape")
    },
}
CALLERS: dict[str, Any] = {
    "function_score": {"function_score": {"query": MATCH, "field_value_factor": {"field": "n"}}},
    "function_score of functions": {"function_score": {"query": MATCH, "functions": [{"filter": OTHER, "weight": 2}]}},
    "function_score of decay": {"function_score": {"query": MATCH, "gauss": {"day": {"origin": "now", "scale": "9d"}}}},
    "script_score": {"script_score": {"query": MATCH, **SCRIPT}},
    "boosting": {"boosting": {"positive": MATCH, "negative": OTHER, "negative_boost": 0.5}},
    "pinned": {"pinned": {"ids": ["1"], "organic": MATCH}},
    "rule": {"rule": {"ruleset_ids": ["r"], "match_criteria": {}, "organic": MATCH}},
    "rule_query": {"rule_query": {"ruleset_id": "r", "organic": MATCH}},
    "rank_feature": bool_(must=MATCH, should={"rank_feature": {"field": "links"}}),
    "distance_feature": bool_(
        must=MATCH, should={"distance_feature": {"field": "day", "pivot": "7d", "origin": "now"}}
    ),
    "percolate": {"percolate": {"field": "q", "document": {"text": "wool"}}},
    "terms_set": {"terms_set": {"tags": {"terms": ["a"], "minimum_should_match_field": "n"}}},
    "more_like_this of documents": {"more_like_this": {"fields": ["text"], "like": [{"_id": "1"}, "wool"]}},
    "has_child with score": bool_(must=[MATCH, {"has_child": {"type": "c", "query": OTHER, "score_mode": "max"}}]),
    "has_parent with score": bool_(must=[MATCH, {"has_parent": {"parent_type": "p", "query": OTHER, "score": True}}]),
    "a preferred term": bool_(must=MATCH, should=[{"term": {"tag": {"value": "new", "boost": 50}}}]),
    "a preferred term without a boost": bool_(must=MATCH, should=[TERM]),
    "a preferred term among choices": bool_(should=[MATCH, TERM]),
    "a preferred constant": bool_(should=[MATCH, {"constant_score": {"filter": OTHER, "boost": 9}}]),
    "a preference alone": bool_(filter=[MATCH], should=[TERM]),
    "a boosted term": bool_(must=[MATCH, {"term": {"lang": {"value": "en", "boost": 3}}}]),
    "boosted terms": bool_(must=[MATCH, {"terms": {"lang": ["en"], "boost": 3}}]),
    "a boosted range": bool_(must=[MATCH, {"range": {"n": {"gte": 3, "boost": 3}}}]),
    "a boosted exists": bool_(must=[MATCH, {"exists": {"field": "n", "boost": 3}}]),
    "boosts between texts": bool_(should=[MATCH, {"match": {"text": {"query": "hat", "boost": 0.2}}}]),
    "a negative boost": {"match": {"text": {"query": "wool", "boost": -1}}},
    "a boost that is no number": {"match": {"text": {"query": "wool", "boost": "high"}}},
    "boosts between words": {"query_string": {"query": "wool^3 cap"}},
    "nested": {"nested": {"path": "parts", "query": {"script_score": {"query": MATCH, **SCRIPT}}}},
    "dis_max": {"dis_max": {"queries": [MATCH, {"constant_score": {"filter": OTHER, "boost": 3}}]}},
    "hybrid": {"hybrid": {"queries": [MATCH, {"function_score": {"query": MATCH, "random_score": {}}}]}},
}
AUTOCOMPLETE: dict[str, Any] = {
    "match_bool_prefix": {"match_bool_prefix": {"text": "wool ca"}},
    "match_phrase_prefix": {"match_phrase_prefix": {"text": {"query": "wool ca"}}},
    "prefix": {"prefix": {"text": "ca"}},
    "multi_match": {"multi_match": {"query": "wool ca", "type": "bool_prefix", "fields": ["text", "text._2gram"]}},
    "multi_match of phrases": {"multi_match": {"query": "wool ca", "type": "phrase_prefix", "fields": ["text"]}},
    "query_string": {"query_string": {"query": "wool ca*"}},
    "simple_query_string": {"simple_query_string": {"query": "wool ca*", "fields": ["text"]}},
    "query_string of a type": {"query_string": {"query": "wool ca", "type": "bool_prefix", "fields": ["text"]}},
    "a required prefix": bool_(must={"match_bool_prefix": {"text": "wool ca"}}, should={"match": {"text": "wool ca"}}),
    "another text with a prefix": bool_(should=[MATCH, {"match_bool_prefix": {"text": "red ca"}}]),
    "a match with a prefix": bool_(should=[MATCH, {"prefix": {"text": "wool cap"}}]),
    "intervals": {"intervals": {"text": {"prefix": {"prefix": "ca"}}}},
    "span_multi": {"span_multi": {"match": {"prefix": {"text": "ca"}}}},
}
WITHOUT_TEXT: dict[str, Any] = {
    "match_all": {"match_all": {"boost": 2}},
    "knn": {"knn": {"v": {"vector": [0.1, 0.2], "k": 3}}},
    "exact_knn": {"exact_knn": {"field": "v", "query": [0.1]}},
    "knn_score_doc": {"knn_score_doc": {}},
    "span_gap": {"span_gap": {"text": 3}},
    "weighted_tokens": {"weighted_tokens": {"v": {"tokens": {"wool": 1}}}},
    "knn with a filter": bool_(must={"knn": {"v": {"vector": [0.1], "k": 3}}}, filter=TERM),
    "neural by image": {"neural": {"v": {"query_image": "aGk="}}},
    "a blank": {"match": {"text": "   "}},
    "nothing": {},
    "no query": None,
    "a string": "wool",
}
UNKNOWN: dict[str, Any] = {
    kind: bool_(must=[MATCH, {kind: {"query": "d29vbA=="}}])
    for kind in ("wrapper", "template", "agentic", "sltr", "new")
}
UNKNOWN["flags"] = {"simple_query_string": {"query": "wool -cap", "fields": ["text"], "flags": "AND|OR"}}
UNKNOWN["a wrapper of deep nesting"] = {"wrapper": {"query": base64.b64encode(b"[" * 200_000).decode()}}


@pytest.mark.parametrize("kind", BY_TEXT)
def test_a_query_for_text_is_re_ranked_by_its_text(kind: str) -> None:
    reading = read(BY_TEXT[kind])
    assert (reading.reason, reading.text) == ("", "wool cap")


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        (FILTERS, "filter_only"),
        (CALLERS, "caller_scoring"),
        (AUTOCOMPLETE, "autocomplete"),
        (WITHOUT_TEXT, "no_query_text"),
        (UNKNOWN, "unknown_query"),
    ],
)
def test_other_queries_keep_the_engines_order_for_a_reason(queries: Mapping[str, Any], reason: str) -> None:
    assert {kind: read(query).reason for kind, query in queries.items()} == dict.fromkeys(queries, reason)


@pytest.mark.parametrize("reason", [*REASONS, "filter_only", "no_query_text"])
def test_each_reason_is_documented(reason: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "http.md"
    assert f"`{reason}` |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "kind", ["function_score", "script_score", "boosting", "pinned", "rule", "a preferred term", "nested"]
)
def test_who_asks_for_re_ranking_gets_it_by_the_text_within(kind: str) -> None:
    reading = read_query({"query": CALLERS[kind]}, {}, no_field_types, is_asked=True)
    assert (reading.reason, reading.text) == ("caller_scoring", "wool cap")


@pytest.mark.parametrize(
    ("body", "reason", "text"),
    [
        ({}, "no_query_text", ""),
        ({"knn": {"field": "v", "query_vector_builder": {"text_embedding": {"model_text": "wool"}}}}, "", "wool"),
        ({"knn": [{"field": "v", "query_vector": [1]}], "query": MATCH}, "", "wool cap"),
        ({"knn": {"field": "v", "query_vector": [1]}, "query": TERM}, "caller_scoring", ""),
        ({"query": bool_(should=[MATCH, KNN])}, "knn_without_k", ""),
        ({"query": bool_(must=[MATCH], filter=[KNN])}, "knn_without_k", ""),
        ({"query": MATCH, "post_filter": {"bool": {"must_not": KNN}}}, "knn_without_k", ""),
        ({"retriever": {"standard": {"query": bool_(should=[MATCH, KNN])}}}, "knn_without_k", ""),
        ({"query": MATCH, "aggs": {"a": {"filters": {"filters": {"near": KNN}}}}}, "knn_without_k", ""),
        ({"query": MATCH, "aggs": {"a": {"filter": wrapped(KNN)}}}, "knn_without_k", ""),
        ({"query": bool_(must=[MATCH], filter=[wrapped(bool_(must_not=wrapped(KNN)))])}, "knn_without_k", ""),
        ({"query": MATCH, "knn": {"field": "v", "query_vector": [1], "filter": KNN}}, "knn_without_k", ""),
        ({"query": bool_(should=[MATCH, {"knn": KNN["knn"] | {"k": 3}}])}, "", "wool cap"),
        ({"query": MATCH, "aggs": {"knn": {"terms": {"field": "lang"}}}}, "", "wool cap"),
        ({"query": bool_(should=[MATCH, {"knn": {"field": {"vector": [1], "min_score": 0.5}}}])}, "", "wool cap"),
        ({"query": MATCH, "rescore": {"query": {"rescore_query": OTHER}}}, "caller_scoring", ""),
        ({"query": MATCH, "rescore": []}, "", "wool cap"),
        ({"query": MATCH, "indices_boost": [{"a": 2}]}, "caller_scoring", ""),
        ({"query": MATCH, "indices_boost": []}, "", "wool cap"),
        ({"retriever": {"standard": {"query": MATCH, "filter": TERM}}}, "", "wool cap"),
        ({"retriever": {"standard": {"query": MATCH, "sort": ["n"]}}}, "caller_scoring", ""),
        ({"retriever": {"standard": {"query": MATCH, "sort": ["_score", "n"]}}}, "", "wool cap"),
        (
            {"retriever": {"standard": {"query": MATCH, "sort": ["_score", "n"], "search_after": [1, 2]}}},
            "caller_scoring",
            "",
        ),
        ({"retriever": {"standard": {"query": CALLERS["script_score"]}}}, "caller_scoring", ""),
        (
            {"retriever": {"rrf": {"retrievers": [{"standard": {"query": MATCH}}, {"knn": {"field": "v"}}]}}},
            "",
            "wool cap",
        ),
        ({"retriever": {"linear": {"retrievers": [{"retriever": {"standard": {"query": OTHER}}}]}}}, "", "red"),
        ({"retriever": {"rrf": {"query": "wool", "fields": ["title"]}}}, "", "wool"),
        (
            {"retriever": {"text_similarity_reranker": {"retriever": {"standard": {"query": MATCH}}}}},
            "caller_scoring",
            "",
        ),
        ({"retriever": {"rule": {"retriever": {"standard": {"query": MATCH}}}}}, "caller_scoring", ""),
        ({"retriever": {"new": {}}}, "unknown_query", ""),
        ({"aggs": {"a": {"filter": MATCH}}, "post_filter": MATCH}, "no_query_text", ""),
    ],
)
def test_other_parts_of_the_body_score_too(body: dict[str, Any], reason: str, text: str) -> None:
    reading = read_query(body, {}, no_field_types)
    assert (reading.reason, reading.text) == (reason, text)


@pytest.mark.parametrize(
    ("query", "weighed"),
    [
        (MATCH, "text^1"),
        ({"multi_match": {"query": "wool", "fields": ["title^5", "text"]}}, "title^5 text^1"),
        ({"multi_match": {"query": "wool", "fields": "title^0.5"}}, "title^0.5"),
        ({"multi_match": {"query": "wool"}}, "*^1"),
        ({"multi_match": {"query": "wool", "fields": ["ti*^3"]}}, "ti*^3"),
        ({"match": {"text": {"query": "wool", "boost": "2.0"}}}, "text^2"),
        (bool_(should=[MATCH, {"match": {"title": {"query": "wool cap", "boost": 5}}}]), "text^1 title^5"),
        (bool_(must=MATCH, should={"match_phrase": {"text": {"query": "wool cap", "boost": 2}}}), "text^2"),
        (bool_(must=MATCH, boost=3), "text^3"),
        ({"query_string": {"query": "title:wool^4 wool", "default_field": "text"}}, "title^4 text^1"),
        ({"neural": {"v": {"query_text": "wool"}}}, ""),
        ({"nested": {"path": "parts", "query": {"match": {"parts.body": "wool"}}}}, "parts.body^1"),
    ],
)
def test_fields_and_their_boosts_are_kept(query: Any, weighed: str) -> None:
    reading = read(query)
    assert (reading.reason, fields(reading)) == ("", weighed)


@pytest.mark.parametrize(
    ("query", "reason", "text", "weighed"),
    [
        ({"match": {"status": "open"}}, "filter_only", "", ""),
        ({"match_phrase": {"status": "open"}}, "filter_only", "", ""),
        (bool_(should=[{"match": {"status": "open"}}]), "filter_only", "", ""),
        (bool_(should=[{"match": {"status": "open"}}, {"match": {"status": "new"}}]), "filter_only", "", ""),
        (bool_(must=[MATCH, {"match": {"status": "open"}}]), "", "wool cap", "text^1"),
        (bool_(must=[MATCH, {"match": {"status": {"query": "open", "boost": 3}}}]), "caller_scoring", "wool cap", ""),
        (bool_(must=[MATCH], should=[{"match": {"status": "open"}}]), "caller_scoring", "wool cap", ""),
        # A keyword with the query's own text is one more field.
        (
            bool_(should=[MATCH, {"match": {"title.keyword": {"query": "wool cap", "boost": 9}}}]),
            "",
            "wool cap",
            "text^1 title^9",
        ),
        ({"multi_match": {"query": "wool", "fields": ["title^2", "sku^9"]}}, "", "wool", "title^2"),
        ({"multi_match": {"query": "wool", "fields": ["sku", "status"]}}, "filter_only", "", ""),
        ({"multi_match": {"query": "wool", "fields": ["title", "title.english^3"]}}, "", "wool", "title^3"),
        ({"term": {"text": "wool"}}, "", "wool", "text^1"),
        ({"prefix": {"sku": "AB"}}, "filter_only", "", ""),
        (bool_(must=[MATCH, {"prefix": {"sku": "AB"}}]), "", "wool cap", "text^1"),
        ({"match": {"text": 42}}, "", "42", "text^1"),
        ({"match": {"status": 42}}, "filter_only", "", ""),
        ({"match": {"_id": "wool"}}, "filter_only", "", ""),
        ({"query_string": {"query": "lang:en AND wool", "fields": ["text"]}}, "", "wool", "text^1"),
        ({"query_string": {"query": r"sku:SKU\-00001"}}, "filter_only", "", ""),
    ],
)
def test_a_match_on_a_field_that_is_no_text_is_a_filter(query: Any, reason: str, text: str, weighed: str) -> None:
    reading = mapped(query)
    assert (reading.reason, reading.text) == (reason, text)
    if not reason:
        assert fields(reading) == weighed


def test_the_url_goes_before_the_bodys_query() -> None:
    assert mapped(OTHER, q="status:open").reason == "filter_only"
    assert mapped(OTHER, q="_exists_:title wool -title:cap status:open").text == "wool"
    assert fields(mapped(OTHER, q="wool", df="title")) == "title^1"
    assert fields(mapped(OTHER, q="wool")) == "*^1"


def test_without_a_mapping_a_match_is_for_text_and_a_term_is_not() -> None:
    assert read({"match": {"status": "open"}}).text == "open"
    assert read({"match": {"title.keyword": "open"}}).reason == "filter_only"
    assert read({"term": {"text": "wool"}}).reason == "filter_only"


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (MATCH, ["text"]),
        ({"multi_match": {"query": "wool", "fields": ["ti*", "text^2", "_id"]}}, ["text"]),
        ({"multi_match": {"query": "wool"}}, []),
        (bool_(filter=[{"match": {"status": "open"}}], must=[{"range": {"n": {}}}]), []),
        (CALLERS["script_score"], []),
        ({"neural": {"v": {"query_text": "wool"}}}, []),
    ],
)
def test_the_mapping_is_asked_only_for_what_it_can_decide(query: Any, asked: list[str]) -> None:
    types = Mapped()
    read_query({"query": query}, {}, types)
    assert types.asked == asked


@pytest.mark.parametrize("inner", [1.0, True, "wool", {"match": {}}])
def test_intervals_within_a_rule_that_are_no_list_are_no_rules(inner: Any) -> None:
    rule = {"all_of": {"intervals": inner}}
    assert read({"intervals": {"text": rule}}).reason == "no_query_text"


@pytest.mark.parametrize("kind", ["query_string", "simple_query_string"])
def test_the_query_strings_of_a_body_have_one_limit(kind: str) -> None:
    clause = {kind: {"query": "wool " * 10_000, "default_field": "text"}}  # 50,000 characters
    assert read(bool_(must=[clause, clause])).reason == ""
    assert read(bool_(must=[clause, clause, clause])).reason == "unknown_query"
    assert read(wrapped(clause)).reason == ""
    assert read(bool_(must=[wrapped(clause)] * 3)).reason == "unknown_query"
    assert read(bool_(must=MATCH, filter=[clause, clause, clause])).reason == "unknown_query"
    assert read(clause).reason == ""


def test_100_000_characters_are_read_of_the_texts_of_a_query() -> None:
    texts = [{"match": {"text": f"{n} {'wool ' * 10_000}"}} for n in range(3)]
    assert len(read(bool_(must=texts)).text) == 100_000
    assert read(bool_(must=texts)).text.startswith("0 wool wool")


@pytest.mark.parametrize("kind", ["match", "multi_match", "query_string"])
def test_names_of_fields_over_512_characters_are_not_read(kind: str) -> None:
    def named(*names: str) -> dict[str, Any]:
        if kind == "match":
            return bool_(should=[{"match": {name: "wool"}} for name in names])
        return {kind: {"query": "wool", "fields": list(names)}}

    assert fields(read(named("a." * 255 + "bc", "title"))) == f"{'a.' * 255}bc^1 title^1"
    reading = read(named("a." * 255 + "bcd", "title"))
    assert (fields(reading), reading.text, reading.reason) == ("title^1", "wool", "")


def test_a_query_that_is_nested_without_end_keeps_the_engines_order() -> None:
    query: dict[str, Any] = MATCH
    for _ in range(2_000):
        query = bool_(must=query)
    assert read(query).reason == "unknown_query"
    rule: dict[str, Any] = {"match": {"query": "wool"}}
    for _ in range(2_000):
        rule = {"all_of": {"intervals": [rule]}}
    assert read({"intervals": {"text": rule}}).reason == "unknown_query"
