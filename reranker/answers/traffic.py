"""The answer of `GET /v1/traffic` and `sinkrank traffic --json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reranker.answers.answer import Answer
from reranker.answers.search import Count


@dataclass(frozen=True, slots=True, eq=False)
class ChangedQuery(Answer):
    """A query whose first page re-ranking would change."""

    query: str
    n: Count
    """How often it was searched for."""
    change: float
    """The share of the page's places that would change, 0 to 1; the place of rank r counts 1 / log2(r + 1)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class InterleavedVotes(Answer):
    """How people's clicks decide between our order and the engine's, of searches of the last 30 days."""

    n_searches: Count
    """Interleaved, with a click or without."""
    wins: Count
    """Searches in which more hits of our order were clicked."""
    losses: Count
    """Searches in which more hits of the engine's order were clicked."""
    ties: Count
    """Searches with clicks that decide nothing."""
    low: float | None
    """The 95 % interval (a confidence sequence) of the share of wins among wins and losses begins here."""
    high: float | None
    """And it ends here."""
    winner: Literal["ours", "engine"] | None
    """None where the interval holds one half."""
    n_searches_needed: Count | None
    """How many searches, those so far among them, give a verdict if the share so far stays; None if it is one half."""


@dataclass(frozen=True, slots=True, eq=False)
class ClicksAnswer(Answer):
    """How many clicks were recorded."""

    n_recorded: Count
    n_unknown: Count
    """Clicks of searches or hits that were not shown."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrafficAnswer(Answer):
    """What re-ranking would change in the searches that came through the proxy."""

    since: str
    """When recording began (ISO 8601, UTC)."""
    n_searches: Count
    n_ranked: Count
    """First pages that were re-ranked beside the engine."""
    n_new_first: Count
    """Of these, those whose first hit would be another one."""
    n_new_page: Count
    """Of these, those whose page would change in any place."""
    mean_ms: float | None
    """What a re-ranked search took, the engine's time included."""
    mean_engine_ms: float | None
    """What the engine took of it."""
    not_ranked: dict[str, Count]
    """Searches that were not re-ranked, by outcome and reason."""
    queries: list[ChangedQuery]
    """Those that would change most: of `sinkrank traffic`, if the setting `log_queries` is on. Never over HTTP."""
    interleaved: InterleavedVotes | None
    """None where no search was interleaved."""
