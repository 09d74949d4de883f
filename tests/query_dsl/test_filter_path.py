"""The rules of `filter_path`; tests/proxy/test_rules_engines.py compares them with the engines' own."""

from __future__ import annotations

import json

import pytest

from reranker.query_dsl.answer_filters import filtered_answer, reads_filter_path

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
    ],
)
def test_what_is_not_at_a_path_goes(value: str, filtered: object) -> None:
    assert json.loads(filtered_answer(json.dumps(ANSWER), value, is_pretty=False)) == filtered


def test_paths_that_take_out_and_many_paths_are_not_read() -> None:
    assert reads_filter_path("took,hits.hits._id")
    assert reads_filter_path("")
    assert not reads_filter_path("took, -hits.total")
    assert reads_filter_path("a," * 100)
    assert not reads_filter_path("a," * 101)


def test_numbers_stay_as_they_are_written() -> None:
    assert filtered_answer('{"n": 1.50E+3, "m": 1}', "n", is_pretty=False) == '{"n": 1.50E+3}'


def test_an_answer_over_several_lines_stays_so() -> None:
    text = '{\n  "a" : {\n    "b" : [\n      1\n    ],\n    "c" : 2\n  },\n  "d" : 3\n}\n'
    assert filtered_answer(text, "a.b", is_pretty=True) == '{\n  "a" : {\n    "b" : [\n      1\n    ]\n  }\n}\n'
    assert filtered_answer(text, "x", is_pretty=True) == "{ }\n"


def test_an_answer_without_end_is_no_recursion() -> None:
    with pytest.raises(ValueError, match="deep"):
        filtered_answer('{"a":' * 200 + "1" + "}" * 200, "**.x", is_pretty=False)
