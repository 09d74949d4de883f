"""LangChain's own classes call the compressor."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.documents.compressor import BaseDocumentCompressor as Contract

from reranker.adapters.langchain import SinkrankCompressor
from reranker.base.errors import BadInput
from reranker.ranking.reranker import Reranker
from tests.adapters.conftest import BEST_SCORE, BY_CAT, MANY, TEXTS, Observed

pytestmark = pytest.mark.slow

DOCUMENTS = [Document(text, id=str(place), metadata={"place": place}) for place, text in enumerate(TEXTS)]


def places(documents: list[Document]) -> list[int]:
    return [document.metadata["place"] for document in documents]


def test_documents_come_back_best_first_with_their_score_and_metadata(reranker: Reranker) -> None:
    compressor = SinkrankCompressor(reranker=reranker, top_n=2, language="en")
    assert isinstance(compressor, Contract)
    assert Contract is BaseDocumentCompressor
    best, second = compressor.compress_documents(DOCUMENTS, "cat")
    assert (best.page_content, best.id, best.metadata["place"]) == ("un chat", "1", 1)
    assert best.metadata["relevance_score"] == pytest.approx(BEST_SCORE, abs=1e-6)
    assert second.metadata["place"] == 2
    assert "relevance_score" not in DOCUMENTS[1].metadata  # the caller's own are left alone


def test_without_top_n_all_come_back(reranker: Reranker) -> None:
    assert places(SinkrankCompressor(reranker=reranker).compress_documents(DOCUMENTS, "cat")) == BY_CAT


def test_the_async_form_gives_the_same(reranker: Reranker) -> None:
    compressor = SinkrankCompressor(reranker=reranker)
    assert places(asyncio.run(compressor.acompress_documents(DOCUMENTS, "cat"))) == BY_CAT


@pytest.mark.parametrize("query", ["zzz", " ", "2019"])
def test_a_query_without_a_known_word_keeps_the_retrievers_order(reranker: Reranker, query: str) -> None:
    compressor = SinkrankCompressor(reranker=reranker, top_n=3)
    assert places(compressor.compress_documents(DOCUMENTS, query)) == [0, 1, 2]


def test_no_documents_are_no_error(reranker: Reranker) -> None:
    assert SinkrankCompressor(reranker=reranker, top_n=3).compress_documents([], "cat") == []


@pytest.mark.parametrize("query", ["cat", "zzz", " "])
def test_a_method_or_a_number_that_cannot_be_is_an_error_whatever_the_query_is(reranker: Reranker, query: str) -> None:
    with pytest.raises(BadInput, match="magic"):
        SinkrankCompressor(reranker=reranker, method="magic").compress_documents(DOCUMENTS, query)
    for top_n in (0, -1):
        with pytest.raises(BadInput, match=f"top_n is {top_n}; give 1 or more"):
            SinkrankCompressor(reranker=reranker, top_n=top_n).compress_documents(DOCUMENTS, query)


def test_a_misspelled_option_is_an_error(reranker: Reranker) -> None:
    with pytest.raises(ValueError, match="topn"):
        SinkrankCompressor(reranker=reranker, topn=3)  # type: ignore[call-arg]


def test_the_best_few_are_asked_of_the_reranker(observed: Observed) -> None:
    documents = [Document(text) for text in MANY]
    compressor = SinkrankCompressor(reranker=observed.reranker, top_n=3, language="en")
    assert [document.page_content for document in compressor.compress_documents(documents, "cat")] == ["un chat"] * 3
    assert observed.kept() == 3
