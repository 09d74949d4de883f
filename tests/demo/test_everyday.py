"""The everyday queries that the demo compares two orders by."""

from __future__ import annotations

from sinkrank.demo.everyday import EVERYDAY_QUERIES, Comparison, compare, first_answer


def test_there_are_fifty_of_two_to_four_words_each_with_a_page() -> None:
    assert len(EVERYDAY_QUERIES) == 50
    assert {len(query.split()) for query in EVERYDAY_QUERIES} <= {2, 3, 4}
    assert all(EVERYDAY_QUERIES.values())


def test_a_page_that_is_not_found_stands_below_every_other() -> None:
    before = [1, 3, None, 2, None]
    after = [2, 1, 50, 2, None]
    assert compare(before, after) == Comparison(n_queries=5, n_first=1, n_first_before=1, n_better=2, n_worse=1)


def test_the_first_page_that_answers_counts() -> None:
    ids = ["text/scalc/01/1", "text/shared/guide/protection", "text/scalc/guide/cell_protect"]
    assert first_answer("lock cells", ids) == 2
    assert first_answer("send a fax", ids) is None
