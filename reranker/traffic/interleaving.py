"""Team-draft interleaving (Radlinski, Kurup and Joachims 2008): one page of two orders, in which clicks vote.

Both orders pick hits in turn, each its best one that is not there yet; a coin decides who goes first in each round. A
click is a vote for the order that picked the hit. Where both orders begin alike, these hits are nobody's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, lgamma, log
from random import Random
from typing import Literal, NamedTuple

Team = Literal["ours", "engine"]
OURS: Team = "ours"
ENGINE: Team = "engine"
BOTH = "both"

_LOG_5_PERCENT = log(0.05)
_BISECTIONS = 50
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


def search_id(caller: bytes, target: str, search: str, now_s: float) -> str:
    """The id of a search, from which nothing can be read: the same for an hour, so that pages of it fit together.

    Args:
        caller: who searches, as nobody outside can compute it (`upstream.incoming.caller_key`).
        target: the searched indices.
        search: all that decides its window.
        now_s: in seconds.
    """
    digest = hashlib.blake2b("\0".join([target, search]).encode("utf-8", "surrogatepass"), key=caller)
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
        """A 95 % confidence sequence (Robbins 1970) of the share of the decided searches that our order wins: in 95 of
        100 tests the share is always in it, however often one looks.

        It holds each share p with (n + 1) · C(n, wins) · p^wins · (1 - p)^losses > 0.05, for n decided searches.
        """
        n = self.wins + self.losses
        if not n:
            return None
        share = self.wins / n
        return self._end(0.0, share), self._end(1.0, share)

    def _end(self, outside: float, inside: float) -> float:
        """Where the interval ends between two shares."""
        for _ in range(_BISECTIONS if inside != outside else 0):
            middle = (outside + inside) / 2
            outside, inside = (outside, middle) if self._holds(middle) else (middle, inside)
        return inside

    def _holds(self, share: float, times: float = 1.0) -> bool:
        """Whether the interval holds a share above 0 and below 1, had there been so many times as many votes."""
        wins, losses = times * self.wins, times * self.losses
        n = wins + losses
        combinations = lgamma(n + 1) - lgamma(wins + 1) - lgamma(losses + 1)
        return log(n + 1) + combinations + wins * log(share) + losses * log(1 - share) > _LOG_5_PERCENT

    @property
    def winner(self) -> Team | None:
        """`ours` or `engine`; None where the interval holds one half."""
        if self.wins == self.losses or self._holds(0.5):
            return None
        return OURS if self.wins > self.losses else ENGINE

    @property
    def n_searches_needed(self) -> int | None:
        """How many searches, those so far among them, give a verdict if the share that shows so far stays; None where
        it is one half, or nothing is decided."""
        if self.wins == self.losses:
            return None
        most = 1.0
        while self._holds(0.5, most):
            most *= 2
        least = 0.0
        for _ in range(_BISECTIONS):
            middle = (least + most) / 2
            least, most = (middle, most) if self._holds(0.5, middle) else (least, middle)
        return ceil(most * self.n_searches)
