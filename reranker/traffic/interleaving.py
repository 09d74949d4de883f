"""Team-draft interleaving (Radlinski, Kurup and Joachims 2008): one page of two orders, in which clicks vote.

Both orders pick hits in turn, each its best one that is not there yet; a coin decides who goes first in each round. A
click is a vote for the order that picked the hit. Where both orders begin alike, these hits are nobody's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from random import Random
from typing import Literal, NamedTuple

Team = Literal["ours", "engine"]
OURS: Team = "ours"
ENGINE: Team = "engine"
BOTH = "both"

_NORMAL_95 = 1.959964  # two-sided
_NORMAL_80 = 0.841621  # one-sided: the power of a test
_SECONDS_ALIKE = 3600.0
_ID_BYTES = 12


class Interleaved(NamedTuple):
    """Two orders in one.

    Attributes:
        places: in the engine's order, from 0.
        teams: which order picked each: `ours`, `engine`, or `both` of those with which both orders begin.
    """

    places: list[int]
    teams: list[str]


def team_draft(ours: Sequence[int], seed: bytes) -> Interleaved:
    """Interleaves our order of n hits with the engine's.

    Args:
        ours: the places 0 to n - 1 of the engine's order, in ours.
        seed: of the coins: the same seed gives the same page.
    """
    coins, n = Random(seed), len(ours)  # noqa: S311 - no secret
    n_alike = next((rank for rank, place in enumerate(ours) if rank != place), n)
    places, teams = list(range(n_alike)), [BOTH] * n_alike
    seen = set(places)
    orders = {OURS: iter(ours), ENGINE: iter(range(n))}
    while len(places) < n:
        first = coins.random() < 0.5
        for team in (OURS, ENGINE) if first else (ENGINE, OURS):
            place = next((one for one in orders[team] if one not in seen), None)
            if place is not None:
                seen.add(place)
                places.append(place)
                teams.append(team)
    return Interleaved(places, teams)


def search_id(caller: bytes, target: str, text: str, now_s: float) -> str:
    """The id of a search, from which nothing can be read: the same for an hour, so that pages of it fit together.

    Args:
        caller: who searches, as nobody outside can compute it (`upstream.incoming.caller_key`).
        target: the searched indices.
        text: of the query.
        now_s: in seconds.
    """
    digest = hashlib.blake2b("\0".join([target, text]).encode("utf-8", "surrogatepass"), key=caller)
    # Not all searches begin anew at the same moment.
    hour = int(now_s + int.from_bytes(digest.digest()[:2], "big") / 65_536 * _SECONDS_ALIKE) // int(_SECONDS_ALIKE)
    digest.update(hour.to_bytes(8, "big"))
    return digest.hexdigest()[: 2 * _ID_BYTES]


@dataclass(frozen=True, slots=True)
class Votes:
    """Of searches with a click: those that our order won, lost, and neither.

    Attributes:
        n_searches: all, with a click or without.
    """

    n_searches: int
    wins: int
    losses: int
    ties: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval (Wilson 1927) of the share of the decided searches that our order wins."""
        n = self.wins + self.losses
        if not n:
            return None
        share, z = self.wins / n, _NORMAL_95
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, centre - half), min(1.0, centre + half)

    @property
    def winner(self) -> Team | None:
        """`ours` or `engine`; None where the interval holds one half."""
        if self.interval is None or self.interval[0] <= 0.5 <= self.interval[1]:
            return None
        return OURS if self.interval[0] > 0.5 else ENGINE

    @property
    def n_searches_needed(self) -> int | None:
        """How many searches, those so far among them, a test needs to find the share that shows so far (5 % two-sided,
        power 80 %); None where it is one half, or nothing is decided."""
        n = self.wins + self.losses
        if not n or self.wins == self.losses:
            return None
        share = self.wins / n
        spread = _NORMAL_95 * 0.5 + _NORMAL_80 * sqrt(share * (1 - share))
        return ceil((spread / (share - 0.5)) ** 2 * self.n_searches / n)


def winner_of(teams: Sequence[str]) -> Team | None:
    """Who has more clicks of one search; None for a tie.

    Args:
        teams: of the clicked hits.
    """
    ours, engine = teams.count(OURS), teams.count(ENGINE)
    return None if ours == engine else OURS if ours > engine else ENGINE
