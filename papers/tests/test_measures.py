"""The figures of a report, against arithmetic by hand."""

import math

import pytest
from ir_measures import Qrel, ScoredDoc

from papers.base.measures import measure, recall

# The relevant document of q1 stands first, that of q2 second, that of q3 nowhere.
QRELS = [Qrel("q1", "a", 1), Qrel("q2", "b", 1), Qrel("q3", "c", 1)]
RUN = [
    ScoredDoc("q1", "a", -0.1),
    ScoredDoc("q1", "b", -0.2),
    ScoredDoc("q2", "c", -0.1),
    ScoredDoc("q2", "b", -0.2),
    ScoredDoc("q3", "a", -0.1),
    ScoredDoc("q3", "b", -0.2),
]


def test_each_measure_is_the_mean_over_queries_worked_out_by_hand():
    found = measure(QRELS, RUN)

    assert found["MRR"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert found["P@1"] == pytest.approx((1 + 0 + 0) / 3)
    assert found["P@10"] == pytest.approx((1 / 10 + 1 / 10 + 0) / 3)
    assert found["nDCG@10"] == pytest.approx((1 + 1 / math.log2(3) + 0) / 3)


def test_recall_is_the_share_of_queries_whose_document_is_within_the_depth():
    assert recall(QRELS, RUN, 1) == pytest.approx(1 / 3)
    assert recall(QRELS, RUN, 2) == pytest.approx(2 / 3)


def test_a_query_that_found_nothing_counts_as_zero():
    run = [scored for scored in RUN if scored.query_id == "q1"]

    assert measure(QRELS, run)["MRR"] == pytest.approx(1 / 3)
    assert recall(QRELS, run, 100) == pytest.approx(1 / 3)


def test_a_document_at_rank_eleven_counts_for_the_reciprocal_rank_alone():
    run = [ScoredDoc("q1", f"other{n}", -n / 100) for n in range(10)] + [ScoredDoc("q1", "a", -0.5)]

    assert measure(QRELS[:1], run) == pytest.approx({"MRR": 1 / 11, "P@1": 0, "P@10": 0, "nDCG@10": 0})
