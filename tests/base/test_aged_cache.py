from reranker.base.aged_cache import AgedCache


def test_a_value_is_forgotten_after_its_time() -> None:
    now = [0.0]
    cache: AgedCache[str, int] = AgedCache(10, 300.0, lambda: now[0])
    cache.put([("a", 1)])
    now[0] = 299.0
    assert cache.get(["a", "b"]) == [1, None]
    now[0] = 300.0
    assert cache.get(["a"]) == [None]


def test_what_is_put_in_again_has_its_whole_time_again() -> None:
    now = [0.0]
    cache: AgedCache[str, int] = AgedCache(10, 300.0, lambda: now[0])
    cache.put([("a", 1), ("b", 2)])
    now[0] = 200.0
    cache.put([("a", 3)])
    now[0] = 400.0
    assert cache.get(["a", "b"]) == [3, None]


def test_the_oldest_values_are_forgotten_where_there_are_too_many() -> None:
    cache: AgedCache[int, str] = AgedCache(3, 300.0)
    cache.put((key, "x") for key in (1, 2, 3, 1, 4))
    assert cache.get([1, 2, 3, 4]) == ["x", None, "x", "x"]
    cache.clear()
    assert cache.get([1]) == [None]
