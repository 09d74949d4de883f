"""Re-ranks the windows of a request; what cannot be re-ranked keeps the engine's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.proxy.fetch import look_up
from reranker.proxy.guard import Turn
from reranker.proxy.hit_texts import HitTexts
from reranker.proxy.indices import Indices
from reranker.proxy.search import Search, SearchRequest
from reranker.query_dsl.sort import TieKey, in_order_of_ties
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.service.text_bags import Bag
from reranker.text.exact_text import exact_key
from reranker.upstream.calls import Fallback


class WindowRanker:
    """Orders windows; safe to share between threads."""

    def __init__(self, indices: Indices, texts: HitTexts) -> None:
        self._indices = indices
        self._texts = texts

    def rank(self, request: SearchRequest, searches: Sequence[Search], turn: Turn) -> None:
        """Gives each of these searches its ranking, or the reason why it has none. Those that are done when the time is
        over count. A search is lost whose bare window lacks a bag."""
        calls = request.calls
        searches = [
            search
            for search in searches
            if not search.status and search.answer is not None and search.answer.hits is not None
        ]
        done: list[Outcome | None] = []

        def work() -> None:
            bags = self._texts.collect(searches, calls, lambda bodies: look_up(request, bodies))
            for search, own in zip(searches, bags, strict=True):
                if not calls.deadline.left_s:
                    return  # nobody waits any more
                search.bags = own or ()
                done.append(None if own is None else self.order(search, own))

        failed = Outcome("fallback", "rerank_failed", "no result")
        try:
            turn.run(work, calls.deadline)
        except Fallback as fallback:
            failed = Outcome("fallback", fallback.reason, str(fallback))
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            failed = Outcome("fallback", "rerank_failed", f"{type(error).__name__}: {error}")
        finished = list(done)  # what outlasts its time goes on in its thread, and adds to `done`
        for number, search in enumerate(searches):
            outcome = finished[number] if number < len(finished) else failed
            if outcome is None:
                search.is_lost = True
            else:
                search.status, search.reason, search.message, search.ranking = outcome

    def order(self, search: Search, bags: Sequence[Bag]) -> Outcome:
        """The hits of the window in their new order, or the reason why they keep the engine's.

        Args:
            bags: of each hit.
        """
        if search.page.is_behind:
            return Outcome("skipped", "beyond_window")
        if not bags:
            return Outcome("skipped", "no_hits")
        if not any(len(bag) for bag, _ in bags):
            return Outcome("fallback", "no_text_in_hits", "no hit has a word with an embedding")
        hits, key = search.window, exact_key(search.query.text)
        weighed = self._indices.weighed(search, {str(hit.get("_index")) for hit in hits})
        is_translated = search.translation is not None
        ranking = weighed.reranker.rerank_bags(
            weighed.query,
            bags,
            search.method,
            search.parameters,
            first_stage_scores=_scores(hits),
            translated=np.ones(len(hits), dtype=bool) if is_translated else None,
            exact=np.array([key in bag.exact_keys for bag, _ in bags], dtype=bool),
            feedback=search.feedback,
            first_stage_share=search.first_stage_share,
        )
        sorts = [hit.get("sort") for hit in hits]
        if search.ties:
            ranking = replace(ranking, documents=_in_order_of_ties(ranking.documents, sorts, search.ties))
        if search.page.after is not None:
            ranks = [rank for rank, one in enumerate(ranking.documents, 1) if sorts[one.index] == search.page.after]
            if not ranks:
                return Outcome("skipped", "search_after")
            search.page.offset = ranks[-1]
        return Outcome("applied", "translated" if is_translated else "", "", ranking)


def _in_order_of_ties(
    documents: Sequence[RankedDocument], sorts: Sequence[Any], ties: Sequence[TieKey]
) -> Sequence[RankedDocument]:
    """Puts documents of the same score in the order of the caller's keys.

    Args:
        sorts: `sort` of each hit, in the engine's order.
    """
    if not all(isinstance(sort, list) and len(sort) > len(ties) for sort in sorts):
        return documents
    ordered: list[RankedDocument] = []
    for _, group in groupby(documents, attrgetter("score")):
        same = list(group)
        ordered += in_order_of_ties([sorts[one.index][1:] for one in same], ties, same)
    return ordered


def _scores(hits: Sequence[Mapping[str, Any]]) -> NDArray[np.float64] | None:
    """The engine's (n_hits,); None unless each hit has one."""
    scores = [hit.get("_score") for hit in hits]
    if not set(map(type, scores)) <= {int, float}:
        return None
    found = np.array(scores, dtype=np.float64)
    return found if np.isfinite(found).all() else None


class Outcome(NamedTuple):
    """How one search went: `Search` has these attributes."""

    status: str
    reason: str
    message: str = ""
    ranking: Reranking | None = None
