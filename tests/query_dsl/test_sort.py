"""Hits of the same score in the order of the caller's keys; what stands here is what the engines themselves do."""

from __future__ import annotations

from typing import Any

import pytest

from reranker.query_dsl.sort import TieKey, in_order_of_ties

UP, DOWN = TieKey(), TieKey(is_descending=True)
UP_FROM_NULL, DOWN_FROM_NULL = TieKey(has_nulls_first=True), TieKey(is_descending=True, has_nulls_first=True)


@pytest.mark.parametrize(
    ("ties", "values", "expected"),
    [
        ([UP], [[2], [None], [1], [10]], [[1], [2], [10], [None]]),
        ([DOWN], [[2], [None], [1]], [[2], [1], [None]]),
        ([UP_FROM_NULL], [[2], [None], [1]], [[None], [1], [2]]),
        ([DOWN_FROM_NULL], [[2], [None], [1]], [[None], [2], [1]]),
        ([UP], [["b"], ["Z"], ["a"], ["ä"], [None]], [["Z"], ["a"], ["b"], ["ä"], [None]]),  # by code points
        ([UP, DOWN], [[1, "a"], [0, "a"], [1, "b"]], [[0, "a"], [1, "b"], [1, "a"]]),
        ([DOWN, UP], [[1, "b"], [2, "b"], [1, "a"]], [[2, "b"], [1, "a"], [1, "b"]]),
        ([UP], [["x"], [3], ["y"], [1.5]], [[1.5], [3], ["x"], ["y"]]),  # a field that is mapped in two ways
        ([UP], [[[1]], [[0]]], [[[0]], [[1]]]),
        ([], [[2], [1]], [[2], [1]]),
    ],
)
def test_ties_are_in_the_order_of_the_keys(ties: list[TieKey], values: list[Any], expected: list[Any]) -> None:
    assert in_order_of_ties(values, ties, values) == expected


@pytest.mark.parametrize("tie", [UP, DOWN, UP_FROM_NULL, DOWN_FROM_NULL])
def test_what_is_equal_stays_as_it_is(tie: TieKey) -> None:
    ordered = in_order_of_ties([[1], [1], [None], [None]], [tie], ["b", "a", "d", "c"])
    assert [ordered.index("b") < ordered.index("a"), ordered.index("d") < ordered.index("c")] == [True, True]
