import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.proxy.page import page_places
from reranker.proxy.search import PagePlan
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.scores import WINDOW_FLOOR, scores_behind


@pytest.mark.parametrize(
    ("offset", "size", "window", "n_fetch"),
    [(0, 10, 100, 100), (90, 10, 100, 100), (95, 10, 100, 105), (99, 1, 100, 100), (0, 500, 100, 500)],
)
def test_a_page_that_touches_the_window_fetches_it_whole(offset: int, size: int, window: int, n_fetch: int) -> None:
    assert PagePlan(offset, size, window).n_fetch == n_fetch


@pytest.mark.parametrize(("offset", "size"), [(100, 10), (1_000, 1)])
def test_a_page_behind_the_window_is_fetched_alone(offset: int, size: int) -> None:
    plan = PagePlan(offset, size, 100)
    assert (plan.is_behind, plan.fetched_from, plan.n_fetch) == (True, offset, size)


@given(n_hits=st.integers(0, 60), window=st.integers(1, 30), size=st.integers(1, 25), seed=st.randoms())
def test_pages_cover_each_hit_once(n_hits: int, window: int, size: int, seed: "st.random.Random") -> None:
    order = list(range(min(window, n_hits)))
    seed.shuffle(order)
    scores = sorted((round(seed.uniform(0.34, 1), 6) for _ in order), reverse=True)
    ranked = tuple(
        RankedDocument(index, rank, 0.0, score, without_known_word=False)
        for rank, (index, score) in enumerate(zip(order, scores, strict=True), 1)
    )
    ranking = Reranking(ranked, "emd", "float64", 0, 0, 0, len(ranked), 0)
    seen, all_scores = [], []
    for offset in range(0, n_hits + size, size):
        plan = PagePlan(offset, size, window)
        n_brought = max(0, min(n_hits, plan.fetched_from + plan.n_fetch) - plan.fetched_from)
        page = page_places(plan, None if plan.is_behind else ranking, n_brought)
        assert len(page) == max(0, min(size, n_hits - offset))
        assert [place.rank for place in page] == list(range(offset + 1, offset + 1 + len(page)))
        seen += [plan.fetched_from + place.index for place in page]
        all_scores += [place.score for place in page]
    assert seen == order + list(range(len(order), n_hits))
    assert all_scores == sorted(all_scores, reverse=True)


def test_hits_behind_the_window_score_less_than_any_in_it() -> None:
    assert scores_behind(100, 101, 1) == [0.019802]  # 0.02 · 100 / 101
    assert scores_behind(100, 101, 1)[0] < WINDOW_FLOOR
    assert scores_behind(1, 10_000_000, 2) == [1e-06, 1e-06]  # nothing is lower, and 0 is no score
