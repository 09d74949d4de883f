"""Re-ranks the windows of a request; what cannot be re-ranked keeps the engine's order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reranker.proxy.fetch import look_up
from reranker.proxy.guard import Turn
from reranker.proxy.hit_texts import HitTexts
from reranker.proxy.indices import Indices
from reranker.proxy.search import Search, SearchRequest
from reranker.proxy.upstream.calls import Fallback
from reranker.ranking.ranked import Reranking
from reranker.service.text_bags import Bag
from reranker.text.exact_text import exact_key


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
        done: list[_Outcome | None] = []

        def work() -> None:
            bags = self._texts.collect(searches, calls, lambda bodies: look_up(request, bodies))
            for search, own in zip(searches, bags, strict=True):
                if not calls.deadline.left_s:
                    return  # nobody waits any more
                done.append(None if own is None else self._outcome(search, own))

        failed = _Outcome("fallback", "rerank_failed", "no result")
        try:
            turn.run(work, calls.deadline)
        except Fallback as fallback:
            failed = _Outcome("fallback", fallback.reason, str(fallback))
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            failed = _Outcome("fallback", "rerank_failed", f"{type(error).__name__}: {error}")
        finished = list(done)  # what outlasts its time goes on in its thread, and adds to `done`
        for number, search in enumerate(searches):
            outcome = finished[number] if number < len(finished) else failed
            if outcome is None:
                search.is_lost = True
            else:
                search.status, search.reason, search.message, search.ranking = outcome

    def order(self, search: Search, bags: Sequence[Bag]) -> Reranking | None:
        """The hits of the window in their new order; None if no hit has a known word.

        Args:
            bags: of each hit.
        """
        if not any(len(bag) for bag, _ in bags):
            return None
        hits = search.window
        reranker, languages = self._indices.reranker({str(hit.get("_index")) for hit in hits}, search.read_fields)
        scores = [hit.get("_score") for hit in hits]
        has_scores = all(isinstance(score, int | float) and math.isfinite(score) for score in scores)
        key = exact_key(search.query.text)
        return reranker.rerank_bags(
            self._indices.query(search, reranker, languages),
            bags,
            search.method,
            search.parameters,
            first_stage_scores=np.array(scores, dtype=np.float64) if has_scores else None,
            translated=None if search.translation is None else np.ones(len(hits), dtype=bool),
            exact=np.array([key in bag.exact_keys for bag, _ in bags], dtype=bool),
            feedback=search.feedback,
            first_stage_share=search.first_stage_share,
        )

    def _outcome(self, search: Search, bags: Sequence[Bag]) -> _Outcome:
        if search.page.is_behind:
            return _Outcome("skipped", "beyond_window")
        if not bags:
            return _Outcome("skipped", "no_hits")
        ranking = self.order(search, bags)
        if ranking is None:
            return _Outcome("fallback", "no_text_in_hits", "no hit has a word with an embedding")
        return _Outcome("applied", "" if search.translation is None else "translated", "", ranking)


class _Outcome(NamedTuple):
    """How one search went: `Search` has these attributes."""

    status: str
    reason: str
    message: str = ""
    ranking: Reranking | None = None
