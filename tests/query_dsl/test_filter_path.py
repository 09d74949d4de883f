"""The rules of `filter_path`; tests/proxy/test_rules_engines.py compares them with the engines' own."""

from __future__ import annotations

import pytest

from reranker.query_dsl.filter_path import filtered_answer, reads_filter_path


def test_paths_that_take_out_and_many_paths_are_not_read() -> None:
    assert reads_filter_path("took,hits.hits._id")
    assert reads_filter_path("")
    assert not reads_filter_path("took, -hits.total")
    assert reads_filter_path("a," * 20)
    assert not reads_filter_path("a," * 21)


def test_numbers_stay_as_they_are_written() -> None:
    assert filtered_answer('{"n": 1.50E+3, "m": 1}', "n", is_pretty=False) == '{"n": 1.50E+3}'


def test_a_point_in_a_name_is_escaped() -> None:
    text = '{"aggregations":{"a.b":{"c":5},"a":{"b":1}}}'
    assert filtered_answer(text, r"aggregations.a\.b.c", is_pretty=False) == '{"aggregations":{"a.b":{"c":5}}}'


def test_an_answer_over_several_lines_stays_so() -> None:
    text = '{\n  "a" : {\n    "b" : [\n      1\n    ],\n    "c" : 2\n  },\n  "d" : 3\n}\n'
    assert filtered_answer(text, "a.b", is_pretty=True) == '{\n  "a" : {\n    "b" : [\n      1\n    ]\n  }\n}\n'
    assert filtered_answer(text, "x", is_pretty=True) == "{ }\n"


def test_an_answer_without_end_is_no_recursion() -> None:
    with pytest.raises(ValueError, match="deep"):
        filtered_answer('{"a":' * 200 + "1" + "}" * 200, "**.x", is_pretty=False)
