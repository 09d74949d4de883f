from reranker.base.aged_cache import AgedCache


def test_a_value_is_forgotten_after_its_time() -> None:
    now = [0.0]
    cache: AgedCache[str, int] = AgedCache(10, 300.0, lambda: now[0])
    cache.put([("a", 1)])
    now[0] = 299.0
    assert cache.get(["a", "b"]) == [1, None]
    now[0] = 300.0
    assert cache.get(["a"]) == [None]


def test_a_key_that_is_put_in_again_has_its_new_value_for_the_rest_of_its_time() -> None:
    now = [0.0]
    cache: AgedCache[str, int] = AgedCache(10, 300.0, lambda: now[0])
    cache.put([("a", 1), ("b", 2)])
    now[0] = 200.0
    cache.put([("a", 3), ("c", 4)])
    assert cache.get(["a", "b", "c"]) == [3, 2, 4]
    now[0] = 400.0
    assert cache.get(["a", "b", "c"]) == [None, None, 4]
    cache.put([("a", 5)])
    now[0] = 600.0
    assert cache.get(["a", "c"]) == [5, None]


def test_the_oldest_values_are_forgotten_where_there_are_too_many() -> None:
    now = [0.0]
    cache: AgedCache[int, str] = AgedCache(3, 300.0, lambda: now[0])
    cache.put([(1, "x"), (2, "x")])
    now[0] = 100.0
    cache.put([(3, "x"), (4, "y"), (5, "z")])
    assert cache.get([1, 2, 3, 4, 5]) == [None, None, "x", "y", "z"]
    now[0] = 350.0
    assert cache.get([3]) == ["x"]
    cache.put([(6, "w")])
    now[0] = 400.0
    assert cache.get([4, 5, 6]) == [None, None, "w"]
    cache.clear()
    assert cache.get([6]) == [None]
