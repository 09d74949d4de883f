"""Which unknown words of a query a document holds."""

from dataclasses import replace

import pytest

from reranker.ranking.unknown_terms import lacking_terms
from tests.support.tiny import tiny_embeddings


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("unknown") / "embeddings")


def lacking_of(unknown, text, embeddings):
    (row,) = lacking_terms(unknown, [(embeddings.bag(text, "en"), "en")], embeddings)
    return tuple(token for token, lacks in zip(unknown, row, strict=True) if lacks)


@pytest.mark.parametrize(
    ("unknown", "text", "lacking"),
    [
        (["xyzzy"], "Type XYZZY!", ()),
        (["xyzzy"], "Type xyzzyx, or xyz.", ("xyzzy",)),  # a part of a word is not the word
        (["plugh", "xyzzy"], "xyzzy", ("plugh",)),
        (["foo", "bar"], "nothing", ("foo", "bar")),
        (["foo"], "", ("foo",)),
    ],
)
def test_a_word_counts_where_it_stands_as_a_token(embeddings, unknown, text, lacking):
    assert lacking_of(unknown, text, embeddings) == lacking


def test_a_word_that_only_the_document_s_language_knows_is_found_among_its_terms(embeddings):
    assert embeddings.term_id("en", "dog") is not None
    assert lacking_of(["dog"], "a dog", embeddings) == ()
    assert lacking_of(["dog"], "a cat", embeddings) == ("dog",)


def test_a_bag_that_was_packed_without_them_does_not_tell(embeddings):
    bag = replace(embeddings.bag("xyzzy", "en"), unknown_hashes=None)
    other = embeddings.bag("xyzzy", "en")
    assert lacking_terms(["xyzzy"], [(other, "en"), (bag, "en")], embeddings) is None


def test_many_candidates_are_told_apart(embeddings):
    texts = [("xyzzy", "en"), ("", "en"), ("plugh", "en"), ("a dog", "en"), ("a dog", "fr"), ("plugh xyzzy", "en")]
    candidates = [(embeddings.bag(text, language), language) for text, language in texts]
    found = lacking_terms(["xyzzy", "dog", "plugh"], candidates, embeddings)
    assert (~found).tolist() == [
        [True, False, False],
        [False, False, False],
        [False, False, True],
        [False, True, False],
        [False, True, False],
        [True, False, True],
    ]
