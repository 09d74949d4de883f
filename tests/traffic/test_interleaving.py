"""Team-draft interleaving and its verdict."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.traffic.interleaving import BOTH, ENGINE, OURS, Votes, search_id, team_draft

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


def test_both_orders_are_first_equally_often() -> None:
    """Of 4,000 fair coins 1,874 to 2,126 fall on one side but in one of 15,000 cases; the seeds are fixed."""
    first = Counter(team_draft([1, 0], n.to_bytes(4, "big")).teams[0] for n in range(4_000))
    assert 1_874 <= first[OURS] <= 2_126
    assert first[OURS] + first[ENGINE] == 4_000


def test_a_hit_that_both_orders_begin_with_is_nobodys() -> None:
    places, teams = team_draft([0, 1, 3, 2], b"")
    assert (places[:2], teams[:2]) == ([0, 1], [BOTH, BOTH])
    assert sorted(teams[2:]) == [ENGINE, OURS]


def test_a_search_has_one_id_for_a_while_and_another_for_each_caller_index_and_search() -> None:
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


def test_the_verdict() -> None:
    """101 · C(100, 60) · p^60 · (1 - p)^40 is 0.05 at .44077 and .74604 (scipy 1.17, `binom.pmf` and `brentq`). At one
    half 101 · C(100, 65) / 2^100 is 0.087, and with 66 wins 0.046. Of 60 % the same sinks below 0.05 between 275 votes
    (0.0533) and 280 (0.0486), twice as many searches with half of them decided."""
    votes = Votes(n_searches=200, wins=60, losses=40, ties=10)
    assert votes.interval == pytest.approx((0.44077, 0.74604), abs=1e-5)
    assert votes.winner is None
    assert 550 < (votes.n_searches_needed or 0) <= 560
    assert [Votes(200, wins, 100 - wins, 0).winner for wins in (34, 35, 65, 66)] == [ENGINE, None, None, OURS]
    assert (Votes(200, 50, 50, 0).winner, Votes(200, 50, 50, 0).n_searches_needed) == (None, None)
    assert (Votes(200, 0, 0, 3).interval, Votes(200, 0, 0, 3).winner) == (None, None)


def test_votes_for_one_side_alone_give_a_verdict_from_the_eighth_on() -> None:
    """8 / 2^7 is 0.0625 and 9 / 2^8 0.035; 9 · p^8 is 0.05 at .5225."""
    assert [Votes(n, n, 0, 0).winner for n in (7, 8)] == [None, OURS]
    assert Votes(8, 8, 0, 0).interval == pytest.approx((0.5225, 1.0), abs=1e-4)
    assert Votes(8, 0, 8, 0).interval == pytest.approx((0.0, 0.4775), abs=1e-4)


def test_who_looks_after_each_search_sees_a_verdict_without_a_difference_in_at_most_5_percent_of_tests() -> None:
    """The probability of each number of wins after n fair coins without a verdict before."""
    undecided, decided = {0: 1.0}, 0.0
    for n in range(1, 201):
        reached: dict[int, float] = {}
        for wins, probability in undecided.items():
            for more in (0, 1):
                reached[wins + more] = reached.get(wins + more, 0.0) + probability / 2
        undecided = {wins: one for wins, one in reached.items() if Votes(n, wins, n - wins, 0).winner is None}
        decided += sum(reached.values()) - sum(undecided.values())
    assert 0.02 < decided < 0.05
