"""The library `rerankers` takes the ranker for one of its own."""

from __future__ import annotations

import asyncio

import pytest
from rerankers import Document
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults

from reranker.adapters.rerankers import SinkrankRanker
from reranker.ranking.reranker import Reranker
from tests.adapters.conftest import BEST_SCORE, BY_CAT, MANY, TEXTS, Observed


@pytest.fixture
def ranker(reranker: Reranker) -> SinkrankRanker:
    return SinkrankRanker(reranker, language="en")


def test_results_are_the_librarys_own(ranker: SinkrankRanker) -> None:
    assert isinstance(ranker, BaseRanker)
    results = ranker.rank("cat", TEXTS, doc_ids=["a", "b", "c", "d"])
    assert isinstance(results, RankedResults)
    assert [(result.doc_id, result.rank) for result in results] == [("b", 1), ("c", 2), ("a", 3), ("d", 4)]
    assert results.has_scores
    assert results.get_score_by_docid("b") == pytest.approx(BEST_SCORE, abs=1e-6)
    assert [result.text for result in results.top_k(2)] == ["un chat", "un chien"]


def test_ids_are_places_where_none_are_given(ranker: SinkrankRanker) -> None:
    assert [result.doc_id for result in ranker.rank("cat", TEXTS)] == BY_CAT


def test_its_documents_keep_their_metadata(ranker: SinkrankRanker) -> None:
    documents = [Document(text, doc_id=place, metadata={"n": place}) for place, text in enumerate(TEXTS)]
    assert [result.metadata["n"] for result in ranker.rank("cat", documents)] == BY_CAT


def test_one_text_and_no_text_will_do(ranker: SinkrankRanker) -> None:
    assert [result.text for result in ranker.rank("cat", "un chat")] == ["un chat"]
    assert ranker.rank("cat", []).results == []
    assert ranker.score("cat", "un chat") == pytest.approx(BEST_SCORE, abs=1e-6)


def test_the_async_form_gives_the_same(ranker: SinkrankRanker) -> None:
    results = asyncio.run(ranker.rank_async("cat", TEXTS))
    assert [result.doc_id for result in results] == BY_CAT


def test_a_query_without_a_known_word_keeps_the_order_given(ranker: SinkrankRanker) -> None:
    assert [result.doc_id for result in ranker.rank("zzz", TEXTS)] == [0, 1, 2, 3]


def test_the_best_few_are_asked_of_the_reranker(observed: Observed) -> None:
    ranker = SinkrankRanker(observed.reranker, top_n=3, language="en")
    assert [result.text for result in ranker.rank("cat", MANY)] == ["un chat"] * 3
    assert observed.kept() == 3
