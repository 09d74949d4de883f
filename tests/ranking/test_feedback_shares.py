import numpy as np
import pytest

from reranker.ranking.corrections import Corrections
from reranker.ranking.evidence import Evidence
from reranker.ranking.feedback import moved_query
from reranker.ranking.ordering import Ordering
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances
from reranker.transport.problem import checked_problem

OF_QUESTIONS = {"relaxed": 0.45, "sinkhorn": 0.35, "nbow": 0.20}  # docs/methods.md


def test_a_question_that_feedback_makes_longer_keeps_the_shares_of_a_question():
    rng = np.random.default_rng(7)
    table = rng.normal(size=(200, 8))
    table = (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)

    def bag(n_words: int) -> WeightedBag:
        term_ids = np.sort(rng.choice(200, n_words, replace=False)).astype(np.int32)
        return WeightedBag(term_ids, rng.dirichlet(np.ones(n_words)))

    query, documents, first_stage = bag(5), WeightedBags.join([bag(20) for _ in range(30)]), rng.random(30)
    corrections = Corrections.make(30)
    problem = checked_problem(query, documents, table)
    ordering = Ordering(problem, corrections, "auto", Parameters(), 1)
    found = ordering.by_evidence(first_stage, with_feedback=True, with_neighbours=False)

    def auto(asked: WeightedBag) -> np.ndarray:
        """By the formula of docs/methods.md; `relaxed` at tau = 0 is settled after one iteration."""
        tau = {"relaxed": 0.0}
        return sum(
            share * distances(asked, documents, table, method, Parameters(tau=tau.get(method), cost="cosine")).values
            for method, share in OF_QUESTIONS.items()
        )

    evidence = Evidence(first_stage, auto(query), corrections)
    moved = moved_query(query, documents, evidence.scores())
    assert len(moved) > 24
    evidence.add_feedback(auto(moved))
    expected = [sum(evidence.parts(place).values()) for place in range(30)]
    assert {each.index: each.score for each in found.documents} == pytest.approx(dict(enumerate(expected)), abs=2e-6)
