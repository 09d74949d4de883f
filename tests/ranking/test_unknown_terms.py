"""Which unknown words of a query a document holds."""

import pytest

from reranker.ranking.unknown_terms import lacking_terms
from tests.support.tiny import tiny_embeddings


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("unknown") / "embeddings")


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
