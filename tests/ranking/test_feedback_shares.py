import numpy as np
import pytest

from reranker.ranking.corrections import Corrections
from reranker.ranking.evidence import Evidence
from reranker.ranking.feedback import moved_query
from reranker.ranking.ordering import Ordering
from reranker.ranking.scores import score_of
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import AutoShares, Parameters, distances
from reranker.transport.problem import checked_problem

OF_QUESTIONS = AutoShares(nearest=0.45, sinkhorn=0.35, nbow=0.20)  # docs/methods.md


@pytest.mark.parametrize("given", [None, AutoShares(nearest=0.2, sinkhorn=0.2, nbow=0.6)])
def test_a_question_that_feedback_makes_longer_keeps_the_shares_of_a_question(given):
    rng = np.random.default_rng(7)
    table = rng.normal(size=(200, 8))
    table = (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)

    def bag(n_words: int) -> WeightedBag:
        term_ids = np.sort(rng.choice(200, n_words, replace=False)).astype(np.int32)
        return WeightedBag(term_ids, rng.dirichlet(np.ones(n_words)))

    query, documents, first_stage = bag(5), WeightedBags.join([bag(20) for _ in range(30)]), rng.random(30)
    corrections = Corrections.make(30)
    problem = checked_problem(query, documents, table)
    shares = Parameters(shares=given)
    ordering = Ordering(problem, corrections, "auto", shares, 1)
    found = ordering.by_evidence(first_stage, with_feedback=True, with_neighbours=False)

    parameters = Parameters(shares=given or OF_QUESTIONS)
    evidence = Evidence(first_stage, distances(query, documents, table, "auto", parameters).values, corrections)
    moved = moved_query(query, documents, evidence.scores())
    assert len(moved) > 24
    evidence.add_feedback(distances(moved, documents, table, "auto", parameters).values)
    expected = [score_of(evidence.parts(place)) for place in range(30)]
    assert {each.index: each.score for each in found.documents} == pytest.approx(dict(enumerate(expected)), abs=2e-6)
