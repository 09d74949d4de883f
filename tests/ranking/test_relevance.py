"""How likely a candidate is to be what was meant: features by hand, and what is left out by it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from reranker.base.errors import WrongParameter
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import Corrections
from reranker.ranking.coverage import Coverage
from reranker.ranking.ranked import RankedDocuments, Reranking
from reranker.ranking.relevance import (
    NO_GOOD_ANSWER,
    WITH_ENCODER,
    WITHOUT_ENCODER,
    Relevance,
    check_min_relevance,
)
from sinkrank import Reranker

# By Lucene's formula, with 100 documents: 4 hold cat, 49 hold dog.
CAT, DOG = math.log(1 + 96.5 / 4.5), math.log(1 + 51.5 / 49.5)


def ranked(
    embeddings: Embeddings, query: str, texts: list[str], scores: list[float] | None, method: str = "auto"
) -> Reranking:
    reranker = Reranker(embeddings)
    candidates = [(embeddings.bag(text, "en"), "en") for text in texts]
    given = None if scores is None else np.array(scores)
    return reranker.rerank_bags(reranker.query(query, "en"), candidates, method, first_stage_scores=given)


def features(reranking: Reranking) -> np.ndarray:
    """In the order of the ranking."""
    documents = reranking.documents
    assert isinstance(documents, RankedDocuments)
    assert documents.reasons.relevance is not None
    return documents.reasons.relevance.features()[documents.order]


def test_the_features_are_those_of_each_candidate_and_of_the_order(embeddings: Embeddings) -> None:
    """Not scaled over the window: the distances are those of the transport."""
    found = ranked(embeddings, "cat", ["cat", "dog", "qqq"], [3.0, 2.0, 1.0])
    score = {one.index: one.score for one in found.documents}
    rows = {one.index: row for one, row in zip(found.documents, features(found), strict=True)}
    distance = {one.index: one.order_distance for one in found.documents}
    assert rows[0] == pytest.approx([1, 0, 0, 0, score[0] - score[1]], abs=1e-6)
    assert rows[1] == pytest.approx([0, 0, distance[1], score[1] - score[0], 0], abs=1e-6)
    assert rows[2] == pytest.approx([0, 0, 1.5, score[2] - score[0], 0], abs=1e-6)  # without a known word


def test_hubness_is_left_out_and_a_lacking_word_costs_its_share() -> None:
    moves = Corrections.make(
        2, np.array([0.9, 0.1]), unknown_share=0.25, unknown=("xyzzy",), lacking=np.array([[False], [True]])
    )
    cosines, distances, scores = np.array([0.4, np.nan]), np.array([0.8, 0.6]), np.array([0.7, 0.3])
    relevance = Relevance(lambda: Coverage(np.ones(2)), cosines, distances, moves, scores)
    assert relevance.features() == pytest.approx(
        np.array([[1, 0.4, 0.75 * 0.8, 0, 0.4], [1, 0, 0.75 * 0.6 + 0.25, -0.4, 0]])
    )
    total = sum(weight * value for weight, value in zip(WITH_ENCODER, [1, 0.4, 0.6, 0, 0.4, 1], strict=True))
    assert relevance.values[0] == pytest.approx(1 / (1 + math.exp(-total)))


def test_relevance_is_the_logistic_function_of_their_weighted_sum(embeddings: Embeddings) -> None:
    found = ranked(embeddings, "cat", ["cat", "dog", "water"], [3.0, 2.0, 1.0])
    for one, row in zip(found.documents, features(found), strict=True):
        total = sum(weight * value for weight, value in zip(WITHOUT_ENCODER[:5], row, strict=True))
        logistic = 1 / (1 + math.exp(-total - WITHOUT_ENCODER.constant))
        assert one.relevance == pytest.approx(min(max(logistic, 0.01), 0.99), abs=5e-4)  # no hit is surer


def test_without_first_stage_scores_the_distance_tells_and_other_methods_tell_nothing(embeddings: Embeddings) -> None:
    found = ranked(embeddings, "cat", ["water", "cat"], None)
    assert [one.index for one in found.documents] == [1, 0]
    first, second = (one.relevance for one in found.documents)
    assert first is not None
    assert second is not None
    assert first > second
    assert [one.relevance for one in ranked(embeddings, "cat", ["cat"], None, "nbow").documents] == [None]


def test_what_has_less_relevance_is_left_out_and_the_others_are_ranked_anew(embeddings: Embeddings) -> None:
    found = ranked(embeddings, "cat", ["water", "cat", "bread cat"], [3.0, 2.0, 1.0])
    by_index = {one.index: one.relevance or 0.0 for one in found.documents}
    least = (by_index[0] + min(by_index[1], by_index[2])) / 2
    kept = found.cut(least)
    assert by_index[0] < least
    assert [(one.index, one.reranked_rank) for one in kept.documents] == [
        (one.index, rank) for rank, one in enumerate((each for each in found.documents if each.index != 0), start=1)
    ]
    assert kept.n_cut == 1
    assert found.cut(None) is found
    everything = found.cut(0.0)
    assert (everything.documents, everything.n_cut) == (found.documents, 0)
    unknown = ranked(embeddings, "cat", ["cat", "dog"], None, "nbow")
    assert len(unknown.cut(1.0).documents) == 2  # nothing is known of them


def test_no_good_answer_is_a_first_hit_of_little_relevance_or_none(embeddings: Embeddings) -> None:
    good = ranked(embeddings, "cat", ["cat", "water"], [2.0, 1.0])
    assert good.has_no_good_answer is False
    poor = ranked(embeddings, "cat", ["water", "bread"], [2.0, 2.0])
    first = poor.documents[0].relevance
    assert first is not None
    assert poor.has_no_good_answer is (first < NO_GOOD_ANSWER)
    assert replace(good, documents=[]).has_no_good_answer is True
    assert ranked(embeddings, "cat", ["cat"], None, "nbow").has_no_good_answer is None


@pytest.mark.parametrize(
    ("least", "method", "told"), [(2, "auto", "0 to 1"), (-0.1, "auto", "0 to 1"), (0, "nbow", "'nbow'")]
)
def test_a_bound_that_cannot_be_is_refused(least: float, method: str, told: str) -> None:
    with pytest.raises(WrongParameter, match=told):
        check_min_relevance(least, method)
    check_min_relevance(None, method)
