"""A window: what the engine found for a search, before it is ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reranker.proxy.search import Outcome, Search, TranslatedQuery
from reranker.upstream.answers import EngineAnswer


class Misfit(Exception):
    """Ids-only windows are of no use: bags or hits of the page cannot be had, or the engine refuses such a window.

    Attributes:
        searches: whose windows these are.
    """

    def __init__(self, searches: Sequence[Search]) -> None:
        super().__init__("an ids-only window does not fit")
        self.searches = searches


@dataclass(frozen=True, eq=False)
class Window:
    """What the engine found for a search.

    Attributes:
        kind: of the window; None for a whole one.
        translation: that it was asked in; None where it was asked as the caller wrote it.
    """

    search: Search
    kind: str | None
    translation: TranslatedQuery | None
    answer: EngineAnswer

    @property
    def is_refused(self) -> bool:
        """Whether the engine's answer is an error (of a line of a multi-search), or lacks hits as a shard failed."""
        return bool(self.failure)

    @cached_property
    def failure(self) -> str:
        """Why it is refused, for the log; empty where it is not.

        If a single hit of a window cannot be highlighted, for example, the engine leaves out all hits of its shard, but
        counts them. It counts no hits of a lost shard, which its own page lacks as well: such a window will do, unless
        it is in translation, which may have more clauses than the engine takes of some indices.
        """
        if self.answer.hits is None:
            return "the engine refused the search for the window"
        if self.translation is not None and self.answer.is_refused_in_part:
            return "some shards refused the search in translation"
        page, total = self.search.page, self.answer.exact_total
        if page.is_behind:
            return ""
        n_most = page.n_fetch if total is None else total - page.fetched_from
        if self.answer.is_partial and len(self.answer.found) < min(page.n_fetch, n_most):
            return f"shards failed, or the time was up, and the window of {page.n_fetch} hits lacks some"
        return ""

    @property
    def found_by(self) -> TranslatedQuery | None:
        """The translation by which its hits were found; None where they were found by what the caller wrote."""
        return None if self.is_refused else self.translation

    @property
    def as_it_came(self) -> bytes:
        """The body that finds these hits on the caller's page, in the engine's order."""
        found_by = self.found_by
        return self.search.as_it_came if found_by is None else self.search.changed_body({"query": found_by.query}, ())

    @cached_property
    def hits(self) -> Sequence[dict[str, Any]]:
        """Those that are to be re-ranked, in the engine's order."""
        page = self.search.page
        return () if page.is_behind or self.is_refused else self.answer.found[: page.window]

    @cached_property
    def index_names(self) -> frozenset[str]:
        """Of the indices of these hits."""
        return frozenset(str(hit.get("_index")) for hit in self.hits)

    @property
    def is_empty(self) -> bool:
        """Whether it found nothing, on any page; without a total a later page cannot tell."""
        if self.is_refused or self.answer.found:
            return False
        return self.search.page.fetched_from == 0 or self.answer.total == 0


@dataclass(frozen=True, slots=True)
class AsItCame:
    """The engine's answer to a search as the caller wrote it."""

    answer: EngineAnswer
    outcome: Outcome
