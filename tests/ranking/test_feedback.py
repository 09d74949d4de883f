"""The moved query, worked by hand."""

import numpy as np
import pytest

from reranker.ranking.feedback import N_BEST, N_WORDS, is_worth_it, moved_query
from reranker.text.bags import WeightedBag, WeightedBags


def bag(**weights):
    ids = [int(name[1:]) for name in weights]
    return WeightedBag(np.array(ids, np.int32), np.array(list(weights.values()), float))


def moved(query, *bags, scores):
    found = moved_query(query, WeightedBags.join(list(bags)), np.array(scores, float))
    return dict(zip(found.term_ids.tolist(), found.weights.tolist(), strict=True))


def test_candidates_count_by_the_eighth_power_of_their_scores():
    """Words 2 and 3 by 3 : 1, of a half; word 1 is the query's too. Half the score is 256 times less."""
    found = moved(bag(t1=1.0), bag(t2=1.0), bag(t1=0.5, t3=0.5), scores=[0.5, 0.5])
    assert found == pytest.approx({1: 0.5 + 0.125, 2: 0.25, 3: 0.125})
    found = moved(bag(t1=1.0), bag(t2=1.0), bag(t3=1.0), scores=[0.9, 0.45])
    assert found == pytest.approx({1: 0.5, 2: 0.5 * 256 / 257, 3: 0.5 / 257})


def test_of_equally_heavy_words_the_first_are_taken():
    """One word has half the weight, and each of 99 others as much of the rest."""
    words = {f"t{n}": 0.5 if n == 90 else 0.5 / 99 for n in range(2, 102)}
    assert set(moved(bag(t1=1.0), bag(**words), scores=[1.0])) == {1, 90, *range(2, 1 + N_WORDS)}


@pytest.mark.parametrize("n_terms", [30, 400])
def test_the_moved_query_agrees_with_the_sum_over_all_words(n_terms):
    rng = np.random.default_rng(n_terms)
    rows = rng.dirichlet(np.full(n_terms, 0.3), size=40)
    rows[7] = 0
    scores, query = rng.random(40) + 0.1, bag(t0=0.5, t3=0.25, t1000=0.25)
    bags = [WeightedBag(np.flatnonzero(row).astype(np.int32), row[row > 0]) for row in rows]
    counts = np.where(scores >= np.sort(scores)[-N_BEST], (scores / scores.max()) ** 8, 0.0)
    summed = counts @ rows
    kept = np.where(summed >= np.sort(summed)[-min(N_WORDS, n_terms)], summed, 0.0)
    expected = dict(enumerate(0.5 * kept / kept.sum()))
    for term_id, weight in zip(query.term_ids.tolist(), query.weights.tolist(), strict=True):
        expected[term_id] = expected.get(term_id, 0.0) + 0.5 * weight
    found = moved(query, *bags, scores=scores)
    assert list(found) == sorted(found)
    assert found == pytest.approx({term_id: weight for term_id, weight in expected.items() if weight > 0}, abs=1e-15)


def test_candidates_without_a_word_leave_the_query_as_it_is():
    empty = WeightedBag(np.empty(0, np.int32), np.empty(0))
    assert moved(bag(t1=0.25, t2=0.75), empty, scores=[1.0]) == pytest.approx({1: 0.25, 2: 0.75})


@pytest.mark.parametrize(("n_words", "n_candidates", "worth"), [(4, 20, True), (3, 100, False), (18, 19, False)])
def test_short_queries_and_few_candidates_get_none(n_words, n_candidates, worth):
    assert is_worth_it(n_words, n_candidates) is worth


@pytest.mark.parametrize(("n_words", "worth"), [(4, False), (5, True)])
def test_of_an_encoded_query_four_words_are_too_few(n_words, worth):
    assert is_worth_it(n_words, 20, is_encoded=True) is worth
