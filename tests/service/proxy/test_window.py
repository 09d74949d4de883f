import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.scores import falling_scores
from reranker.service.proxy.answer import Ordering
from reranker.service.proxy.window import plan_page


@pytest.mark.parametrize(
    ("offset", "size", "window", "n_fetch"),
    [(0, 10, 100, 100), (90, 10, 100, 100), (95, 10, 100, 105), (99, 1, 100, 100), (0, 500, 100, 500)],
)
def test_a_page_that_touches_the_window_fetches_it_whole(offset: int, size: int, window: int, n_fetch: int) -> None:
    plan = plan_page(offset, size, window)
    assert plan is not None
    assert plan.n_fetch == n_fetch


@pytest.mark.parametrize(("offset", "size"), [(100, 10), (1_000, 1), (0, 0), (0, -1), (-1, 10)])
def test_a_page_behind_the_window_or_without_hits_is_the_engines(offset: int, size: int) -> None:
    assert plan_page(offset, size, 100) is None


@given(n_hits=st.integers(0, 60), window=st.integers(1, 30), size=st.integers(1, 25), seed=st.randoms())
def test_pages_cover_each_hit_once(n_hits: int, window: int, size: int, seed: "st.random.Random") -> None:
    order = list(range(min(window, n_hits)))
    seed.shuffle(order)
    scores = sorted((round(seed.uniform(0.34, 1), 6) for _ in order), reverse=True)
    seen = []
    for offset in range(0, n_hits + size, size):
        plan = plan_page(offset, size, window)
        if plan is None:
            seen += range(offset, min(n_hits, offset + size))  # the engine's own page
            continue
        page = plan.cut(list(zip(order, scores, strict=True)), min(n_hits, plan.n_fetch), Ordering("emd", "float64"))
        assert len(page) == max(0, min(size, n_hits - offset))
        assert [place.score for place in page] == sorted((place.score or 0.0 for place in page), reverse=True)
        assert [place.rank for place in page] == list(range(offset + 1, offset + 1 + len(page)))
        seen += [place.index for place in page]
    assert seen == order + list(range(len(order), n_hits))


def test_hits_behind_the_window_score_less_than_those_in_it() -> None:
    assert falling_scores(0.9, 2, 3) == [0.675, 0.54, 0.45]  # 0.9 · 3/4, 3/5, 3/6
    assert falling_scores(1e-06, 5, 2) == [1e-06, 1e-06]  # nothing is lower, and 0 is no score
