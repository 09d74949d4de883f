"""Which unknown words of a query a document holds."""

from reranker.ranking.unknown_terms import lacking_terms


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
