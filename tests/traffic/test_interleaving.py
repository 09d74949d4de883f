"""Team-draft interleaving and its verdict."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.traffic.interleaving import BOTH, ENGINE, OURS, Votes, search_id, team_draft, winner_of

orders = st.integers(1, 30).flatmap(lambda n: st.permutations(range(n)))


@given(orders, st.binary(max_size=8))
def test_each_hit_is_there_once_and_each_team_picks_in_its_own_order(ours: list[int], seed: bytes) -> None:
    places, teams = team_draft(ours, seed)
    assert sorted(places) == sorted(ours)
    by_engine = [place for place, team in zip(places, teams, strict=True) if team == ENGINE]
    by_us = [place for place, team in zip(places, teams, strict=True) if team == OURS]
    assert by_engine == sorted(by_engine)
    assert by_us == sorted(by_us, key=ours.index)
    n_alike = teams.count(BOTH)
    assert places[:n_alike] == list(range(n_alike)) == ours[:n_alike]
    for n in range(n_alike, len(places) + 1, 2):  # after each round both have picked as often
        assert abs(teams[:n].count(OURS) - teams[:n].count(ENGINE)) <= 1


@given(orders, st.binary(max_size=8))
def test_the_same_seed_gives_the_same_page(ours: list[int], seed: bytes) -> None:
    assert team_draft(ours, seed) == team_draft(ours, seed)


def test_both_orders_are_first_equally_often() -> None:
    """Of 4,000 fair coins 1,874 to 2,126 fall on one side but in one of 15,000 cases; the seeds are fixed."""
    first = Counter(team_draft([1, 0], n.to_bytes(4, "big")).teams[0] for n in range(4_000))
    assert 1_874 <= first[OURS] <= 2_126
    assert first[OURS] + first[ENGINE] == 4_000


def test_a_hit_that_both_orders_begin_with_is_nobodys() -> None:
    places, teams = team_draft([0, 1, 3, 2], b"")
    assert (places[:2], teams[:2]) == ([0, 1], [BOTH, BOTH])
    assert sorted(teams[2:]) == [ENGINE, OURS]


def test_a_search_has_one_id_for_a_while_and_another_for_each_caller_index_and_text() -> None:
    now = 1_000_000.0
    known = search_id(b"me", "pages", "cat", now)
    assert len(known) == 24
    others = [
        search_id(b"you", "pages", "cat", now),
        search_id(b"me", "more", "cat", now),
        search_id(b"me", "pages", "dog", now),
        search_id(b"me", "pages", "cat", now + 3_600),
    ]
    assert len({known, *others}) == 5
    # Within an hour it changes once at most.
    within = [search_id(b"me", "pages", "cat", now + 60 * minute) for minute in range(60)]
    assert sum(one != other for one, other in pairwise(within)) <= 1


@pytest.mark.parametrize(
    ("teams", "winner"),
    [([], None), ([OURS], OURS), ([OURS, ENGINE], None), ([ENGINE, BOTH, BOTH], ENGINE), ([BOTH], None)],
)
def test_the_order_with_more_clicks_wins_a_search(teams: list[str], winner: str | None) -> None:
    assert winner_of(teams) == winner


def test_the_verdict() -> None:
    """Wilson's interval of 60 of 100 is .502 to .691 (scipy 1.17, `binomtest(60, 100).proportion_ci(method="wilson")`);
    a test of .6 against .5 takes ((.98 + .842 · √.24) / .1)² = 193.8 decided searches, twice as many with half of
    the searches decided."""
    votes = Votes(n_searches=200, wins=60, losses=40, ties=10)
    assert votes.interval == pytest.approx((0.5020, 0.6906), abs=1e-4)
    assert votes.winner == OURS
    assert votes.n_searches_needed == 388
    assert Votes(200, 40, 60, 10).winner == ENGINE
    assert (Votes(200, 50, 50, 0).winner, Votes(200, 50, 50, 0).n_searches_needed) == (None, None)
    assert (Votes(200, 0, 0, 3).interval, Votes(200, 0, 0, 3).winner) == (None, None)
