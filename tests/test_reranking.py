"""Re-ranking texts and bags with the hand-placed vocabulary (tests/tiny.py)."""

import math

import numpy as np
import pytest

from reranker import Parameters, Reranker
from reranker.detection import guess_language
from reranker.errors import BadInput, EmptyQuery, UnknownLanguage, UnknownWords
from tests.tiny import TRANSLATION_COST, tiny_embeddings


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return Reranker(tiny_embeddings(tmp_path_factory.mktemp("tiny") / "embeddings"))


def order(reranking):
    return [document.index for document in reranking.documents]


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_the_translation_comes_first_by_every_method(reranker, method):
    found = reranker.rerank("chat", ["bread water", "dog", "cat"], language="fr", method=method)
    assert order(found) == [2, 1, 0]


def test_distances_of_single_words_are_the_costs_between_them(reranker):
    found = reranker.rerank("chat", ["cat"], language="fr", method="sinkhorn")
    assert found.documents[0].distance == pytest.approx(TRANSLATION_COST, abs=1e-5)
    assert found.documents[0].score == pytest.approx(1 / (1 + TRANSLATION_COST), abs=2e-6)


def test_documents_without_a_known_word_are_last_in_the_given_order(reranker):
    found = reranker.rerank("chat", ["zzz", "bread", "", "yyy"], language="fr")
    assert order(found) == [1, 0, 2, 3]
    assert [math.isinf(document.distance) for document in found.documents] == [False, True, True, True]
    assert all(0 < document.score <= 1 for document in found.documents)


def test_ties_keep_the_given_order(reranker):
    assert order(reranker.rerank("chat", ["dog", "cat", "cat", "dog"], language="fr")) == [1, 2, 0, 3]


def test_ranks_count_from_one_without_a_gap(reranker):
    found = reranker.rerank("chat", ["dog", "cat", "bread"], language="fr")
    assert [document.reranked_rank for document in found.documents] == [1, 2, 3]


def test_no_documents_give_no_ranking(reranker):
    assert reranker.rerank("chat", [], language="fr").documents == ()


def test_the_method_and_the_arithmetic_are_said(reranker):
    found = reranker.rerank("chat", ["cat"], language="fr", method="sinkhorn", parameters=Parameters(epsilon=0.01))
    assert (found.method, found.precision) == ("sinkhorn", "float64")


def test_an_empty_query_and_one_of_unknown_words_are_refused(reranker):
    with pytest.raises(EmptyQuery, match="at least one"):
        reranker.rerank(" 42 !", ["cat"], language="fr")
    with pytest.raises(UnknownWords, match="zzz"):
        reranker.rerank("zzz", ["cat"], language="fr")


def test_a_language_that_was_guessed_is_not_blamed_for_unknown_words(reranker):
    with pytest.raises(UnknownWords, match=r"in any language here \(en, fr\)"):
        reranker.query("zzz")


def test_a_wrong_language_and_a_wrong_method_are_refused(reranker):
    with pytest.raises(UnknownLanguage):
        reranker.rerank("chat", ["cat"], language="klingon")
    with pytest.raises(BadInput, match="sinkhorn"):
        reranker.rerank("chat", ["cat"], language="fr", method="sinkorn")


def test_unknown_words_of_a_query_are_named_in_reading_order(reranker):
    assert reranker.query("yyy chat zzz", "fr").unknown_words == ("yyy", "zzz")


def test_a_query_of_stop_words_alone_is_taken_at_its_word(reranker):
    with pytest.raises(UnknownWords, match="the"):
        reranker.query("the", "en")


def test_the_language_is_guessed_by_the_words_that_are_known(reranker):
    assert guess_language("le chat et l'eau", reranker.embeddings) == "fr"
    assert guess_language("the cat and the water", reranker.embeddings) == "en"


def test_repeated_words_weigh_more(reranker):
    # With mass 3/4 on `chat`, a document of cat and bread in the same shares is nearer than one in the inverse shares.
    found = reranker.rerank(
        "chat chat chat pain", ["cat bread bread bread", "cat cat cat bread"], language="fr", method="emd"
    )
    assert order(found) == [1, 0]
    assert found.documents[0].distance == pytest.approx(TRANSLATION_COST, abs=1e-5)


def test_first_stage_ranks_break_ties_where_they_are_given(reranker):
    embeddings = reranker.embeddings
    bags = [(embeddings.bag("cat", "en"), "en"), (embeddings.bag("cat", "en"), "en")]
    query = reranker.query("chat", "fr").weighted
    found = reranker.rerank_bags(query, bags, first_stage_ranks=np.array([7, 3]))
    assert order(found) == [1, 0]


def test_one_language_too_few_is_refused(reranker):
    with pytest.raises(BadInput, match="1 languages came for 2 documents"):
        reranker.rerank("chat", ["cat", "dog"], language="fr", document_languages=["en"])
