from reranker.embeddings import Embeddings
from reranker.service.text_bags import MAX_AGE_S, BagCache, TextBags, text_key


def test_it_holds_no_more_than_it_may(embeddings: Embeddings) -> None:
    cache = BagCache(2)
    bag = (embeddings.bag("cat", "en"), "en")
    for number in range(3):
        cache.put([(number, bag)])
    assert cache.get(range(3)) == [None, bag, bag]


def test_nothing_is_kept_for_long(embeddings: Embeddings) -> None:
    now = [0.0]
    cache = BagCache(2, lambda: now[0])
    bag = (embeddings.bag("cat", "en"), "en")
    cache.put([(text_key("cat"), bag)])
    now[0] = MAX_AGE_S - 1
    assert cache.get([text_key("cat")]) == [bag]
    now[0] = MAX_AGE_S + 1
    assert cache.get([text_key("cat")]) == [None]


def test_a_text_is_another_in_another_language(embeddings: Embeddings) -> None:
    counted = []
    texts = TextBags(embeddings, BagCache(10, count=lambda n_hits, n_misses: counted.append((n_hits, n_misses))))
    english, french, guessed = texts.read(["chat"] * 3, ["en", "fr", None])
    assert [language for _, language in (english, french, guessed)] == ["en", "fr", "fr"]  # it is French
    assert texts.read(["chat"], ["fr"])[0] is french
    assert counted == [(0, 3), (1, 0)]


def test_a_text_that_comes_twice_is_read_once(embeddings: Embeddings) -> None:
    one, other, again = TextBags(embeddings, BagCache(10)).read(["chat", "cat", "chat"])
    assert one is again
    assert (one[1], other[1]) == ("fr", "en")


def test_no_text_is_taken_for_one_of_a_language() -> None:
    assert len({text_key("chat", "fr"), text_key("chat"), text_key("frchat"), text_key("fr\0chat")}) == 4
    assert text_key("\ud800") != text_key("?")


def test_a_text_is_another_where_other_short_texts_equal_a_query(embeddings: Embeddings) -> None:
    texts = TextBags(embeddings, BagCache(10))
    ((plain, _),), ((titled, _),) = texts.read(["chat"]), texts.read(["chat"], exact_keys=[frozenset([7])])
    assert (plain.exact_keys, titled.exact_keys) == (frozenset(), frozenset([7]))
    # What ranking keeps with a bag is there when the text comes again.
    assert texts.read(["chat"], exact_keys=[frozenset([7])])[0][0] is titled
