"""Neighbours' scores, worked by hand."""

import numpy as np
import pytest

from reranker.ranking.neighbours import N_BEST, N_NEAREST, neighbour_scores
from reranker.text.bags import WeightedBag, WeightedBags


def bag(**weights):
    ids = [int(name[1:]) for name in weights]
    return WeightedBag(np.array(ids, np.int32), np.array(list(weights.values()), float))


def scores_of(*bags, scores):
    return neighbour_scores(WeightedBags.join(list(bags)), np.array(scores, float)).tolist()


def test_neighbours_count_by_the_fourth_power_of_the_bhattacharyya_coefficient():
    """The first is 1 with its copy, and sqrt(0.25) = 1/2 with the third: 1 and 1/16 as weights."""
    found = scores_of(bag(t1=1.0), bag(t1=1.0), bag(t1=0.25, t2=0.75), scores=[0.5, 0.9, 0.2])
    assert found[0] == pytest.approx((0.9 + 0.2 / 16) / (1 + 1 / 16))
    assert found[2] == pytest.approx((0.5 + 0.9) / 2)  # equally like both


def test_of_equally_near_ones_all_count_in_whatever_order_they_come():
    bags = [bag(t1=1.0)] * 8
    assert scores_of(*bags, scores=[0.0, *[0.7] * 6, 1.4])[0] == pytest.approx((6 * 0.7 + 1.4) / 7)


def test_one_alone_and_one_without_a_word_keep_their_own_score():
    assert scores_of(bag(t1=1.0), scores=[0.4]) == [0.4]
    assert scores_of(bag(t1=1.0), bag(t1=1.0), bag(), scores=[0.4, 0.4, 0.7])[2] == 0.7


@pytest.mark.parametrize("n", [12, N_BEST, N_BEST + 20])
def test_likeness_agrees_with_the_sum_over_all_words(n):
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.full(30, 0.3), size=n)
    scores = rng.random(n)
    found = neighbour_scores(
        WeightedBags.join([WeightedBag(np.arange(30, dtype=np.int32), row) for row in rows]), scores
    )
    best = np.argsort(-scores)[:N_BEST].tolist()
    for place in range(n):
        likeness = {other: np.sqrt(rows[place] * rows[other]).sum() for other in best}
        likeness[place] = 0.0
        nearest = sorted(best, key=lambda other: -likeness[other])[:N_NEAREST]
        weights = np.array([likeness[other] ** 4 for other in nearest])
        assert found[place] == pytest.approx(weights @ scores[nearest] / weights.sum())
