"""Texts in the query's language: `auto` adds BM25 to transport (tests/support/tiny.py)."""

from __future__ import annotations

import pytest

from reranker.embeddings import Embeddings
from reranker.ranking.ranked import Reranking
from reranker.text.idf import DocumentFrequencies, IdfTable
from sinkrank import Reranker

# Of all words dog is the nearest to cat, so by transport alone the first comes first; the second holds the word itself.
TEXTS = ["dog", "cat bread bread bread"]


@pytest.fixture(scope="module")
def reranker(embeddings: Embeddings) -> Reranker:
    frequencies = DocumentFrequencies.count(embeddings.bag(text, "en") for text in [*TEXTS, "car", "water"])
    return Reranker(embeddings, IdfTable({"en": frequencies}))


def order(reranking: Reranking) -> list[int]:
    return [document.index for document in reranking.documents]


def test_the_text_with_the_word_itself_comes_before_the_text_with_a_near_word(reranker: Reranker) -> None:
    found = reranker.rerank("cat", TEXTS, language="en", document_languages="en")
    assert order(found) == [1, 0]
    # One of two texts holds the query, so BM25 and coverage count 0.6 + 0.5² · 0.05 of 0.98, and transport the rest.
    assert [document.score for document in found.documents] == pytest.approx([0.62025, 0.39975], abs=1e-6)
    first_stage = [document.parts and document.parts.first_stage for document in found.documents]
    assert first_stage == pytest.approx([0.98 * 0.6125 * 0.7, 0], abs=1e-6)


@pytest.mark.parametrize("method", ["sinkhorn", "nbow", "rwmd"])
def test_other_methods_go_by_transport_alone(reranker: Reranker, method: str) -> None:
    found = reranker.rerank("cat", TEXTS, language="en", document_languages="en", method=method)
    assert order(found) == [0, 1]
    assert [document.parts for document in found.documents] == [None, None]


def test_texts_in_another_language_go_by_transport_alone(reranker: Reranker) -> None:
    found = reranker.rerank("chat", TEXTS, language="fr", document_languages="en")
    assert order(found) == [0, 1]
    assert [document.parts for document in found.documents] == [None, None]


def test_the_best_few_are_the_first_of_all(reranker: Reranker) -> None:
    texts = [*TEXTS, "car", "dog water", "cat xyzzy", "zzz"]
    all_of_them = reranker.rerank("cat", texts, language="en", document_languages="en")
    best = reranker.rerank("cat", texts, language="en", document_languages="en", top_n=2)
    assert best.documents == all_of_them.documents[:2]


def test_a_word_without_an_embedding_is_lexical_evidence_too(reranker: Reranker) -> None:
    found = reranker.rerank("cat xyzzy", ["cat", "cat xyzzy"], language="en", document_languages="en")
    assert order(found) == [1, 0]
    assert found.documents[0].parts is not None
    # The texts hold the whole query.
    assert found.documents[0].parts.first_stage == pytest.approx(0.98 * 0.65 * 0.7)
    assert found.documents[0].parts.coverage == pytest.approx(0.98 * 0.65 * 0.3)
