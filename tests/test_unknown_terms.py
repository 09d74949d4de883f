"""Which unknown words of a query a document holds."""

from dataclasses import replace

import pytest

from reranker.ranking.unknown_terms import lacking_terms
from tests.tiny import tiny_embeddings


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("unknown") / "embeddings")


@pytest.mark.parametrize(
    ("unknown", "text", "lacking"),
    [
        (["xyzzy"], "Type XYZZY!", ()),
        (["xyzzy"], "Type xyzzyx, or xyz.", ("xyzzy",)),  # a part of a word is not the word
        (["plugh", "xyzzy", "plugh"], "xyzzy", ("plugh",)),
        (["foo", "bar"], "nothing", ("foo", "bar")),
        (["foo"], "", ("foo",)),
    ],
)
def test_a_word_counts_where_it_stands_as_a_token(embeddings, unknown, text, lacking):
    assert lacking_terms(unknown, embeddings.bag(text, "en"), "en", embeddings) == lacking


def test_a_word_that_only_the_document_s_language_knows_is_found_among_its_terms(embeddings):
    assert embeddings.term_id("en", "dog") is not None
    assert lacking_terms(["dog"], embeddings.bag("a dog", "en"), "en", embeddings) == ()
    assert lacking_terms(["dog"], embeddings.bag("a cat", "en"), "en", embeddings) == ("dog",)


def test_a_bag_that_was_packed_without_them_does_not_tell(embeddings):
    bag = replace(embeddings.bag("xyzzy", "en"), unknown_hashes=None)
    assert lacking_terms(["xyzzy"], bag, "en", embeddings) is None
