from reranker.embeddings import Embeddings
from reranker.proxy.known_bags import DocumentKey, KnownBags
from reranker.service.text_bags import Bag


def key(number: int, reading: str = "caller") -> DocumentKey:
    return (reading, "pages", number, 1)


def bag_of(embeddings: Embeddings, text: str = "cat") -> Bag:
    return embeddings.bag(text, "en"), "en"


def test_a_bag_is_known_to_who_has_read_it_for_five_minutes(embeddings: Embeddings) -> None:
    now = [0.0]
    known, bag = KnownBags(clock=lambda: now[0]), bag_of(embeddings)
    known.put([(key(1), bag, "d1"), (None, bag, "d2")])
    found = known.get([key(1), key(2), None, key(1, "another")])
    assert [one and one[:2] for one in found] == [(bag, "d1"), None, None, None]
    now[0] = 299.0
    assert known.get([key(1)])[0] is not None
    now[0] = 301.0
    assert known.get([key(1)]) == [None]


def test_a_document_that_is_read_again_is_known_for_five_minutes_more(embeddings: Embeddings) -> None:
    now = [0.0]
    known = KnownBags(clock=lambda: now[0])
    known.put([(key(1), bag_of(embeddings), "d"), (key(2), bag_of(embeddings), "d")])
    now[0] = 200.0
    known.put([(key(1), bag_of(embeddings), "d")])
    now[0] = 400.0
    assert [one is None for one in known.get([key(1), key(2)])] == [False, True]


def test_the_oldest_bags_are_forgotten_where_there_are_too_many(embeddings: Embeddings) -> None:
    known, bag = KnownBags(n_documents=3), bag_of(embeddings)
    known.put([(key(n), bag, "d") for n in (1, 2, 3, 1, 4)])
    assert [one is None for one in known.get([key(n) for n in (1, 2, 3, 4)])] == [False, True, False, False]
    known.clear()
    assert known.get([key(1)]) == [None]
