"""Measures by hand, and beside trec_eval's (ir_measures)."""

from __future__ import annotations

import random

import ir_measures
import pytest
from ir_measures import RR, Judged, P, Qrel, R, ScoredDoc, nDCG

from sinkrank.evaluation.measures import MEASURES

THEIRS = {"nDCG@10": nDCG @ 10, "MRR": RR, "P@1": P @ 1, "P@10": P @ 10, "R@100": R @ 100, "judged@10": Judged @ 10}


def test_a_query_that_finds_nothing_or_has_nothing_relevant_has_0() -> None:
    assert {measure([], {"a": 1}) for measure in MEASURES.values()} == {0.0}
    assert [MEASURES[name](["a"], {"a": 0}) for name in ("nDCG@10", "MRR", "P@1", "R@100")] == [0.0] * 4


@pytest.mark.parametrize("seed", range(30))
def test_measures_are_those_of_trec_eval_to_the_last_bit(seed: int) -> None:
    chance = random.Random(seed)
    documents = [f"d{number}" for number in range(200)]
    grades = {doc: chance.choice([-1, 0, 0, 1, 2, 3]) for doc in chance.sample(documents, chance.randint(1, 60))}
    ranking = chance.sample(documents, chance.randint(1, 150))
    run = [ScoredDoc("q", doc, -place) for place, doc in enumerate(ranking)]
    qrels = [Qrel("q", doc, grade) for doc, grade in grades.items()]
    found = {each.measure: each.value for each in ir_measures.iter_calc(list(THEIRS.values()), qrels, run)}
    for name, theirs in THEIRS.items():
        assert MEASURES[name](ranking, grades) == found[theirs], name
