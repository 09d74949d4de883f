from reranker.embeddings import Embeddings
from reranker.service.text_bags import TextBags


def test_a_text_is_another_in_another_language(embeddings: Embeddings) -> None:
    counted = []
    texts = TextBags(embeddings, lambda n_hits, n_misses: counted.append((n_hits, n_misses)))
    english, french, guessed = texts.read(["chat"] * 3, ["en", "fr", None])
    assert [language for _, language in (english, french, guessed)] == ["en", "fr", "fr"]  # it is French
    assert texts.read(["chat"], ["fr"])[0] is french
    assert counted == [(0, 3), (1, 0)]


def test_a_text_is_another_where_other_short_texts_equal_a_query(embeddings: Embeddings) -> None:
    texts = TextBags(embeddings)
    ((plain, _),), ((titled, _),) = texts.read(["chat"]), texts.read(["chat"], exact_keys=[frozenset([7])])
    assert (plain.exact_keys, titled.exact_keys) == (frozenset(), frozenset([7]))
    # What ranking keeps with a bag is there when the text comes again.
    assert texts.read(["chat"], exact_keys=[frozenset([7])])[0][0] is titled
