from dataclasses import replace

from reranker.embeddings import Embeddings
from reranker.service.proxy.bag_cache import MAX_AGE_S, BagCache, DocumentKey, caller_key, text_key

KEY = DocumentKey(b"caller", "pages", "1", 7, 1, ())


def test_it_holds_no_more_than_it_may(embeddings: Embeddings) -> None:
    cache = BagCache(2)
    bag = (embeddings.bag("cat", "en"), "en")
    for number in range(3):
        cache.put(replace(KEY, seq_no=number), bag)
    assert [cache.get(replace(KEY, seq_no=number)) for number in range(3)] == [None, bag, bag]
    BagCache(0).put(KEY, bag)
    assert BagCache(0).get(KEY) is None


def test_nothing_is_kept_for_long(embeddings: Embeddings) -> None:
    now = [0.0]
    cache = BagCache(2, lambda: now[0])
    bag = (embeddings.bag("cat", "en"), "en")
    cache.put(text_key("cat"), bag)
    now[0] = MAX_AGE_S - 1
    assert cache.get(text_key("cat")) == bag
    now[0] = MAX_AGE_S + 1
    assert cache.get(text_key("cat")) is None


def test_a_caller_is_known_by_the_credentials_alone() -> None:
    one = [("Authorization", "Basic b25l"), ("X-Opaque-Id", "1")]
    assert caller_key(one) == caller_key([("X-Opaque-Id", "2"), ("authorization", "Basic b25l")])
    assert caller_key(one) != caller_key([("Authorization", "Basic dHdv")])
    assert caller_key(one) != caller_key([*one, ("Cookie", "a=b")])
    assert b"b25l" not in caller_key(one)
