"""Scores, order and fusion."""

import numpy as np

from reranker.ranking.scores import WINDOW_FLOOR, scores_behind
from reranker.search.fusion import reciprocal_rank_fusion
from reranker.text.documents import Candidate

EMPTY = np.array([], np.int32)


def run(*ids):
    from reranker.text.bags import BagOfWords

    return [Candidate(doc_id, "en", BagOfWords(EMPTY, EMPTY), 1.0, rank) for rank, doc_id in enumerate(ids, start=1)]


def test_fusion_sums_reciprocal_ranks():
    fused = reciprocal_rank_fusion([run("a", "b", "c"), run("c", "a")], depth=10)
    # a: 1/61 + 1/62, c: 1/63 + 1/61, b: 1/62
    assert [candidate.doc_id for candidate in fused] == ["a", "c", "b"]
    assert fused[0].first_stage_score == 1 / 61 + 1 / 62
    assert [candidate.first_stage_rank for candidate in fused] == [1, 2, 3]


def test_equal_sums_are_ordered_by_best_rank_and_then_by_id():
    assert [c.doc_id for c in reciprocal_rank_fusion([run("b"), run("a")], 10)] == ["a", "b"]


def test_fusion_keeps_no_more_than_the_depth():
    assert len(reciprocal_rank_fusion([run("a", "b", "c")], depth=2)) == 2


def test_hits_behind_the_window_score_less_than_any_in_it():
    assert scores_behind(100, 101, 1) == [0.019802]  # 0.02 · 100 / 101
    assert scores_behind(100, 101, 1)[0] < WINDOW_FLOOR
    assert scores_behind(1, 10_000_000, 2) == [1e-06, 1e-06]  # nothing is lower, and 0 is no score
