"""The everyday queries that the demo compares two orders by."""

from __future__ import annotations

from sinkrank.demo.everyday import Comparison, compare, first_answer


def test_a_page_that_is_not_found_stands_below_every_other() -> None:
    before = [1, 3, None, 2, None]
    after = [2, 1, 50, 2, None]
    assert compare(before, after) == Comparison(n_queries=5, n_first=1, n_first_before=1, n_better=2, n_worse=1)


def test_the_first_page_that_answers_counts() -> None:
    ids = ["text/scalc/01/1", "text/shared/guide/protection", "text/scalc/guide/cell_protect"]
    assert first_answer("lock cells", ids) == 2
    assert first_answer("send a fax", ids) is None
