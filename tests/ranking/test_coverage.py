"""How much of a query the first hits hold, and what that makes of the first stage's share: worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reranker import Reranker
from reranker.embeddings import Embeddings
from reranker.ranking.coverage import covered_share
from reranker.ranking.evidence import covered_first_stage
from reranker.text.idf import DocumentFrequencies
from tests.support.tiny import tiny_embeddings

NAN = math.nan
# By Lucene's formula, with 100 documents: 4 hold cat, 49 hold dog.
CAT, DOG = math.log(1 + 96.5 / 4.5), math.log(1 + 51.5 / 49.5)


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return tiny_embeddings(tmp_path_factory.mktemp("tiny") / "embeddings")


def covered(
    embeddings: Embeddings, query: list[str], texts: list[str], scores: list[float], language: str = "en"
) -> float:
    ids = [embeddings.term_id("en", word) for word in ("cat", "dog")]
    order = np.argsort(ids)
    frequencies = DocumentFrequencies(100, np.array(ids, np.int32)[order], np.array([4, 49], np.int32)[order])
    candidates = [(embeddings.bag(text, language), language) for text in texts]
    read = Reranker(embeddings).query_with_unknown_words(" ".join(query), "en")
    return covered_share(read, candidates, np.array(scores), frequencies)


def test_it_is_the_mean_over_the_hits_of_the_words_that_each_holds_by_idf(embeddings: Embeddings) -> None:
    found = covered(embeddings, ["cat", "dog"], ["cat bread", "dog dog", "water", "dog cat"], [4.0, 3.0, 2.0, 1.0])
    assert found == pytest.approx((CAT + DOG + 0 + (CAT + DOG)) / 4 / (CAT + DOG))


def test_only_the_ten_best_by_the_first_stage_count(embeddings: Embeddings) -> None:
    texts = ["cat", *["water"] * 10]
    assert covered(embeddings, ["cat"], texts, [0.0, *[1.0] * 10]) == 0
    assert covered(embeddings, ["cat"], texts, [2.0, *[1.0] * 10]) == pytest.approx(0.1)


def test_a_word_without_an_embedding_counts_twice_where_it_is_held(embeddings: Embeddings) -> None:
    xyzzy = math.log(1 + 99.5 / 1.5)  # one candidate holds it, so at least one of 100 documents
    found = covered(embeddings, ["cat", "xyzzy"], ["xyzzy", "water"], [2.0, 1.0])
    assert found == pytest.approx(2 * xyzzy / 2 / (CAT + xyzzy))
    assert covered(embeddings, ["xyzzy"], ["xyzzy"], [1.0]) == 1  # never more than all


def test_hits_without_a_score_or_in_another_language_say_nothing(embeddings: Embeddings) -> None:
    assert covered(embeddings, ["cat"], ["cat", "water"], [NAN, 1.0]) == 0
    assert covered(embeddings, ["cat"], ["cat"], [1.0], language="fr") == 0


@pytest.mark.parametrize(
    ("share", "held", "expected"),
    [(0.25, 0.0, 0.25), (0.25, 0.4, 0.25), (0.25, 0.7, 0.45), (0.25, 1.0, 0.65), (0.8, 1.0, 0.8)],
)
def test_the_first_stage_counts_more_the_more_of_the_query_its_hits_hold(
    share: float, held: float, expected: float
) -> None:
    assert covered_first_stage(share, held) == pytest.approx(expected)


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
