"""Re-ranks the windows of a request; what cannot be re-ranked keeps the engine's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import ClientLeft
from reranker.proxy.fetch import look_up
from reranker.proxy.guard import Slot
from reranker.proxy.hit_texts import HitTexts, KnownHits, WindowBags, look_ups
from reranker.proxy.indices import Indices, Weighed
from reranker.proxy.search import Outcome, ProxyRequest, Search
from reranker.proxy.window import Misfit, Window
from reranker.ranking.corrections import start_encoding
from reranker.ranking.query import Query
from reranker.ranking.ranked import Reranking
from reranker.text.exact_text import exact_key
from reranker.upstream.answers import EngineAnswer
from reranker.upstream.calls import Fallback, out_of_time


@dataclass(frozen=True, slots=True, eq=False)
class Teams:
    """Which order each hit of an interleaved window came from (`reranker.traffic.interleaving`), by rank.

    Attributes:
        search_id: names the search.
        has_no_good_answer: as of our order, whose first hit may be another one.
    """

    search_id: str
    by_rank: Sequence[str]
    has_no_good_answer: bool | None


@dataclass(frozen=True, slots=True, eq=False)
class RankedWindow:
    """A window in its new order, or the reason why it keeps the engine's.

    Attributes:
        offset: the place of the page's first hit in the order, from 0.
        collected: the bags of its hits; None where they were not.
        weighed: the query by the document frequencies of the searched indices; None where nothing was ranked.
        ranking: of the window's hits; None where the engine's order stays.
        teams: where the ranking is interleaved with the engine's order; else None.
    """

    window: Window
    outcome: Outcome
    offset: int
    collected: WindowBags | None = None
    weighed: Weighed | None = None
    ranking: Reranking | None = None
    teams: Teams | None = None

    @property
    def is_for_engine(self) -> bool:
        """Whether only the engine's answer to the search as it came will do: it refused the window; the page follows a
        hit whose new place is not known; or re-ranking failed, and the window has no contents."""
        if self.window.is_refused or (self.window.search.page.after is not None and self.ranking is None):
            return True
        return self.window.kind is not None and self.outcome.status == "fallback"


class WindowRanker:
    """Orders windows; safe to share between threads."""

    def __init__(self, indices: Indices, texts: HitTexts) -> None:
        self._indices = indices
        self.texts = texts

    def rank(self, request: ProxyRequest, windows: Sequence[Window], slot: Slot) -> list[RankedWindow]:
        """Each window with its ranking, or the reason why it has none: the same for all where they are not all ranked
        in time.

        Raises:
            Misfit: an ids-only window lacks bags.
            ClientLeft: nobody waits for the answer.
        """
        deadline = request.calls.deadline
        weighed: list[Weighed | None] = []
        hits: list[KnownHits | None] = []

        def order(looked_up: Sequence[EngineAnswer]) -> list[RankedWindow | None]:
            ranked: list[RankedWindow | None] = []
            for window, query, found in zip(windows, weighed, self.texts.collect(hits, looked_up), strict=True):
                if not deadline.left_s:
                    raise out_of_time()  # nobody waits any more
                ranked.append(None if found is None else self.order(window, found, query))
            return ranked

        def order_if_at_hand() -> tuple[list[tuple[Search, bytes]], list[RankedWindow | None]]:
            weighed.extend(map(self.weigh, windows))
            hits.extend(self.at_hand(request, *one) for one in zip(windows, weighed, strict=True))
            lacking = look_ups(hits)
            return lacking, [] if lacking else order(())

        try:
            lacking, ranked = slot.run(order_if_at_hand, deadline)
            if lacking:
                slot.succeeded = None  # nothing is ranked yet
                looked_up = look_up(request, lacking)  # it waits for the engine, without a slot
                ranked = slot.run(lambda: order(looked_up), deadline)
        except ClientLeft:  # says nothing about re-ranking
            raise
        except Fallback as fallback:
            failed = Outcome("fallback", fallback.reason, str(fallback))
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            failed = Outcome("fallback", "rerank_failed", f"{type(error).__name__}: {error}")
        else:
            if None in ranked:
                raise Misfit([window.search for window, one in zip(windows, ranked, strict=True) if one is None])
            return [one for one in ranked if one is not None]  # all of them
        return [RankedWindow(window, failed, window.search.page.offset) for window in windows]

    def weigh(self, window: Window) -> Weighed | None:
        """The query by the document frequencies of the hits' indices; None where no hit can be ranked."""
        if not window.hits:
            return None
        weighed = self._indices.weighed(window.search, window.index_names)
        start_encoding(weighed.query, window.search.method)  # the indices may have another language for it
        return weighed

    def at_hand(self, request: ProxyRequest, window: Window, weighed: Weighed | None) -> KnownHits | None:
        """As `HitTexts.at_hand`; a hit that may be in several languages is in its query's."""
        likely = _likely_language(window.search, window.search.query if weighed is None else weighed.query)
        return self.texts.at_hand(window, likely, request.calls.incoming.caller)

    def order(self, window: Window, found: WindowBags, weighed: Weighed | None) -> RankedWindow:
        """The hits of the window in their new order, or the reason why they keep the engine's."""
        search, hits = window.search, window.hits

        def unranked(status: str, reason: str, message: str = "") -> RankedWindow:
            return RankedWindow(window, Outcome(status, reason, message), search.page.offset, found)

        if window.is_refused:
            return unranked("fallback", "engine_refused", window.failure)
        if search.page.is_behind:
            return unranked("skipped", "beyond_window")
        if weighed is None:
            return unranked("skipped", "no_hits")
        if not any(len(bag.term_ids) for bag, _ in found.bags):
            return unranked("fallback", "no_text_in_hits", "no hit has a word with an embedding")
        key = exact_key(search.query.text)
        is_translated = window.translation is not None
        ranking = weighed.reranker.rerank_bags(
            weighed.query,
            found.bags,
            search.method,
            search.parameters,
            first_stage_scores=_scores(hits),
            translated=np.ones(len(hits), dtype=bool) if is_translated else None,
            exact=np.array([key in bag.exact_keys for bag, _ in found.bags], dtype=bool),
            feedback=search.feedback,
            first_stage_share=search.first_stage_share,
        )
        ranking = ranking.cut(search.min_relevance)
        offset = search.page.offset if search.page.after is None else offset_after(window, ranking)
        if offset is None:
            return unranked("skipped", "search_after")
        outcome = Outcome("applied", "translated" if is_translated else "")
        return RankedWindow(window, outcome, offset, found, weighed, ranking)


def _likely_language(search: Search, query: Query) -> str:
    """Of a hit that may be in several: that of its query, or the first that the caller names for the documents."""
    return search.languages[0] if search.languages and query.language not in search.languages else query.language


def offset_after(window: Window, ranking: Reranking) -> int | None:
    """The offset of the page that follows the hit that the search names (`search_after`); None where it is none of the
    window's."""
    after, hits = window.search.page.after, window.hits
    ranks = [rank for rank, one in enumerate(ranking.documents, 1) if hits[one.index].get("sort") == after]
    return ranks[-1] if ranks else None


def _scores(hits: Sequence[Mapping[str, Any]]) -> NDArray[np.float64] | None:
    """The engine's (n_hits,); None unless each hit has one."""
    scores = [hit.get("_score") for hit in hits]
    return np.array(scores, dtype=np.float64) if set(map(type, scores)) <= {int, float} else None
