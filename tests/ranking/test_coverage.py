"""How much of a query candidates hold, and what that makes of the order: worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reranker.embeddings import Embeddings
from reranker.ranking.coverage import Coverage, find_coverage
from reranker.text.idf import DocumentFrequencies, IdfTable
from sinkrank import Reranker

NAN = math.nan
# By Lucene's formula, with 100 documents: 4 hold cat, 49 hold dog.
CAT, DOG = math.log(1 + 96.5 / 4.5), math.log(1 + 51.5 / 49.5)


def coverage(
    embeddings: Embeddings, query: list[str], texts: list[str], scores: list[float], language: str = "en"
) -> Coverage:
    ids = [embeddings.term_id("en", word) for word in ("cat", "dog")]
    order = np.argsort(ids)
    frequencies = DocumentFrequencies(100, np.array(ids, np.int32)[order], np.array([4, 49], np.int32)[order])
    candidates = [(embeddings.bag(text, language), language) for text in texts]
    read = Reranker(embeddings).query_with_unknown_words(" ".join(query), "en")
    return find_coverage(read, candidates, frequencies, np.array(scores))


def test_each_candidate_has_the_part_of_the_query_that_it_holds_by_idf(embeddings: Embeddings) -> None:
    found = coverage(embeddings, ["cat", "dog"], ["cat bread", "dog dog", "water", "dog cat"], [4.0, NAN, 2.0, 1.0])
    assert found.of_each == pytest.approx([CAT / (CAT + DOG), DOG / (CAT + DOG), 0, 1])


def test_what_a_candidate_in_another_language_holds_is_not_known(embeddings: Embeddings) -> None:
    found = coverage(embeddings, ["cat"], ["cat"], [1.0], language="fr")
    assert np.isnan(found.of_each).all()


def test_of_the_best_hits_it_is_the_mean(embeddings: Embeddings) -> None:
    found = coverage(embeddings, ["cat", "dog"], ["cat bread", "dog dog", "water", "dog cat"], [4.0, 3.0, 2.0, 1.0])
    assert found.of_best == pytest.approx((CAT + DOG + 0 + (CAT + DOG)) / 4 / (CAT + DOG))


def test_only_the_ten_best_by_the_first_stage_count(embeddings: Embeddings) -> None:
    texts = ["cat", *["water"] * 10]
    assert coverage(embeddings, ["cat"], texts, [0.0, *[1.0] * 10]).of_best == 0
    assert coverage(embeddings, ["cat"], texts, [2.0, *[1.0] * 10]).of_best == pytest.approx(0.1)


def test_of_the_best_hits_a_word_without_an_embedding_counts_twice_where_it_is_held(embeddings: Embeddings) -> None:
    xyzzy = math.log(1 + 99.5 / 1.5)  # one candidate holds it, so at least one of 100 documents
    found = coverage(embeddings, ["cat", "xyzzy"], ["xyzzy", "water"], [2.0, 1.0])
    assert found.of_best == pytest.approx(2 * xyzzy / 2 / (CAT + xyzzy))
    assert found.of_each == pytest.approx([xyzzy / (CAT + xyzzy), 0])
    assert coverage(embeddings, ["xyzzy"], ["xyzzy"], [1.0]).of_best == 1  # never more than all


def test_hits_without_a_score_or_in_another_language_are_none_of_the_best(embeddings: Embeddings) -> None:
    assert coverage(embeddings, ["cat"], ["cat", "water"], [NAN, 1.0]).of_best == 0
    assert coverage(embeddings, ["cat"], ["cat"], [NAN]).of_best == 0
    assert coverage(embeddings, ["cat"], ["cat"], [1.0], language="fr").of_best == 0


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_share_that_was_asked_for_stays(embeddings: Embeddings, share: float) -> None:
    reranker = Reranker(embeddings)
    candidates = reranker.read_documents(["cat", "dog"], "en")
    found = reranker.rerank_bags(
        reranker.query("cat", "en"), candidates, first_stage_scores=np.array([2.0, 1.0]), first_stage_share=share
    )
    best = next(document for document in found.documents if document.index == 0)
    assert best.parts is not None
    assert best.parts.first_stage == pytest.approx(0.98 * share)


@pytest.mark.parametrize("scores", [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
def test_the_hit_that_holds_more_of_the_query_has_more_where_the_first_stage_tells_hits_apart(
    embeddings: Embeddings, scores: list[float]
) -> None:
    """Of the query one hit holds half (4 of 100 documents hold each of its words), another all of it, the last none."""
    ids = np.array(sorted(embeddings.term_id("en", word) or 0 for word in ("cat", "dog")), np.int32)
    reranker = Reranker(embeddings, IdfTable({"en": DocumentFrequencies(100, ids, np.array([4, 4], np.int32))}))
    candidates = reranker.read_documents(["cat", "cat dog", "bread"], "en")
    found = reranker.rerank_bags(reranker.query("cat dog", "en"), candidates, first_stage_scores=np.array(scores))
    parts = {document.index: document.parts for document in found.documents}
    assert parts[0] is not None
    assert parts[1] is not None
    share = 0.98 * (0.6 + 0.5**2 * 0.05)
    of_coverage = 0.3 * share if scores[2] < scores[1] else 0
    assert [parts[0].coverage, parts[1].coverage] == pytest.approx([of_coverage / 2, of_coverage])
    assert [parts[0].first_stage, parts[1].first_stage] == pytest.approx([share - of_coverage] * 2)


def test_the_words_of_a_query_of_which_none_weighs_anything_count_alike(embeddings: Embeddings) -> None:
    """The few words of the vocabulary are so frequent by Zipf's law that each text holds them."""
    reranker = Reranker(embeddings)
    candidates = reranker.read_documents(["cat", "water", "dog cat"], "en")
    found = find_coverage(reranker.query("cat dog", "en"), candidates, None, np.array([3.0, 2.0, 1.0]))
    assert found.of_each == pytest.approx([0.5, 0, 1])
    assert found.of_best == pytest.approx(0.5)
