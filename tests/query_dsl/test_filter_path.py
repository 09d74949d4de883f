"""The rules of `filter_path`; tests/proxy/test_rules_engines.py compares them with the engines' own."""

from __future__ import annotations

import json

import pytest

from reranker.query_dsl.answer_filters import FilterPath

ANSWER = {
    "took": 5,
    "hits": {"total": {"value": 2}, "hits": [{"_id": "1", "_source": {"a": {"b": [1, 2]}, "l": []}}, {"_id": "2"}]},
    "list": [1, {"x": 1, "y": 2}, "z"],
}


@pytest.mark.parametrize(
    ("value", "filtered"),
    [
        ("took", {"took": 5}),
        (" took , nothing", {"took": 5}),
        ("hits.total.value", {"hits": {"total": {"value": 2}}}),
        ("hits.hits._id", {"hits": {"hits": [{"_id": "1"}, {"_id": "2"}]}}),
        ("hits.hits._source.a", {"hits": {"hits": [{"_source": {"a": {"b": [1, 2]}}}]}}),
        ("*.hits._i*", {"hits": {"hits": [{"_id": "1"}, {"_id": "2"}]}}),
        ("**.b", {"hits": {"hits": [{"_source": {"a": {"b": [1, 2]}}}]}}),
        ("**.took", {}),  # two stars stand for one name at least
        ("list.x", {"list": [{"x": 1}]}),
        ("list.nothing", {}),
        ("-hits", {"took": 5, "list": [1, {"x": 1, "y": 2}, "z"]}),
        ("-list.x,-list.y,-hits", {"took": 5, "list": [1, "z"]}),
        ("hits.total,-**.value", {}),
        (
            "-hits.hits._source.a.b,-hits.hits._source.l,-list,-took,-hits.total",
            {"hits": {"hits": [{"_id": "1"}, {"_id": "2"}]}},
        ),
        ("-hits.hits._source.a.b,-list,-took,-hits.total,-hits.hits._id", {"hits": {"hits": [{"_source": {"l": []}}]}}),
    ],
)
def test_what_is_not_at_a_path_goes(value: str, filtered: object) -> None:
    assert json.loads(FilterPath(value, False, False).apply(json.dumps(ANSWER))) == filtered


def test_elasticsearch_alone_keeps_a_list_that_a_path_leads_through_and_that_was_empty() -> None:
    text = '{"took":1,"hits":{"hits":[]}}'
    assert FilterPath("-hits.hits._source", True, False).apply(text) == text
    assert FilterPath("-hits.hits._source", False, False).apply(text) == '{"took":1}'


def test_numbers_stay_as_they_are_written() -> None:
    assert FilterPath("n", False, False).apply('{"n": 1.50E+3, "m": 1}') == '{"n": 1.50E+3}'


def test_an_answer_over_several_lines_stays_so() -> None:
    text = '{\n  "a" : {\n    "b" : [\n      1\n    ],\n    "c" : 2\n  },\n  "d" : 3\n}\n'
    assert FilterPath("a.b", False, True).apply(text) == '{\n  "a" : {\n    "b" : [\n      1\n    ]\n  }\n}\n'
    assert FilterPath("x", False, True).apply(text) == "{ }\n"


def test_an_answer_without_end_is_no_recursion() -> None:
    with pytest.raises(ValueError, match="deep"):
        FilterPath("**.x", False, False).apply('{"a":' * 200 + "1" + "}" * 200)
