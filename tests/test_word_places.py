"""Where the words of an explanation stand in the document's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker import Reranker
from reranker.documents import Document
from reranker.explanation import explain
from reranker.tokens import token_places, tokenize
from reranker.word_places import with_places
from tests.tiny import tiny_embeddings


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return Reranker(tiny_embeddings(tmp_path_factory.mktemp("tiny") / "embeddings"))


def explained(reranker, query, document):
    bag = reranker.idf.weigh(reranker.embeddings.bag(document.full_text, document.language), document.language)
    found = explain(reranker.query(query, "fr").weighted, bag, reranker.embeddings)
    return with_places(found, document, reranker.embeddings)


@given(st.text(), st.sampled_from(["en", "el", "fi", "tr"]), st.sampled_from([3, 500]))
def test_the_places_are_those_of_the_tokens(text, language, most):
    assert [token for token, _, _ in token_places(text, language, most)] == tokenize(text, language, most)


@given(st.lists(st.sampled_from(["Ο ΛΌΓΟΣ", "e\u0301te\u0301", "İstanbul", "—", "🐈 cat", "12"])).map(" ".join))
def test_each_place_holds_its_token(text):
    for token, start, end in token_places(text, "en"):
        assert tokenize(text[start:end], "en") == [token]


def test_words_are_found_in_title_and_text_apart(reranker):
    document = Document("d", "A dog; the Cat, the CAT.", "en", title="Cat 🐈")
    words = {word.word: word for word in explained(reranker, "chat", document).document_words}
    assert words["cat"].in_title == ((0, 3),)
    assert [document.text[start:end] for start, end in words["cat"].in_text] == ["Cat", "CAT"]
    assert [document.text[start:end] for start, end in words["dog"].in_text] == ["dog"]


def test_a_document_without_a_title_has_places_in_its_text_alone(reranker):
    word = explained(reranker, "chat", Document("d", "cat", "en")).document_words[0]
    assert (word.in_title, word.in_text) == ((), ((0, 3),))


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_the_parts_of_the_document_words_sum_to_the_distance(reranker, method):
    bag = reranker.idf.weigh(reranker.embeddings.bag("cat dog bread", "en"), "en")
    found = explain(reranker.query("chat pain eau", "fr").weighted, bag, reranker.embeddings, method)
    assert sum(word.distance for word in found.document_words) == pytest.approx(found.distance, abs=1e-9)
    assert sum(word.mass for word in found.document_words) == pytest.approx(1.0)
    masses = [word.mass for word in found.document_words]
    assert masses == sorted(masses, reverse=True)
