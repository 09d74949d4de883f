"""Re-ranks the windows of a request and writes each answer anew; what cannot be re-ranked keeps the engine's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reranker.proxy.answer import SearchAnswer
from reranker.proxy.document_key import caller_key
from reranker.proxy.guard import Turn
from reranker.proxy.hit_bags import HitBags, LookUp, Window
from reranker.proxy.hit_ranking import HitRanker, HitRanking
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.upstream.calls import EngineCalls, Fallback, Incoming
from reranker.service.bag_cache import Bag
from reranker.service.json_text import float_text
from reranker.translation import WordGroup

NO_HITS, TRANSLATED = "no_hits", "translated"
_WEIGHT_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one search went.

    Attributes:
        ranking: None where the engine's order stays, for `reason`.
        reason: also `translated`, of a re-ranked search.
        message: for the log.
    """

    ranking: HitRanking | None
    reason: str = ""
    message: str = ""
    is_skipped: bool = False

    @property
    def status(self) -> str:
        """`applied`, `skipped` (it was not to be re-ranked) or `fallback` (it could not be)."""
        return "applied" if self.ranking is not None else "skipped" if self.is_skipped else "fallback"


class WindowRanker:
    """Orders windows; safe to share between threads.

    Attributes:
        ranker: what orders the hits; a test may put another in its place.
    """

    def __init__(self, ranker: HitRanker, bags: HitBags) -> None:
        self.ranker = ranker
        self._bags = bags

    def rank(
        self, windows: Sequence[Window], incoming: Incoming, calls: EngineCalls, look_up: LookUp, turn: Turn
    ) -> list[Outcome]:
        """An outcome for each window; those that are done when the time is over count."""
        outcomes: list[Outcome | None] = [None] * len(windows)

        def work() -> None:
            bags = self._bags.collect(windows, caller_key(incoming.headers), calls, look_up)
            for number, window in enumerate(windows):
                if not calls.deadline.left_s:
                    return  # nobody waits any more
                outcomes[number] = self._rank(window, bags[number])

        failed: Outcome | None = None
        try:
            turn.run(work, calls.deadline)
        except Fallback as fallback:
            failed = Outcome(None, fallback.reason, str(fallback))
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            failed = Outcome(None, "rerank_failed", f"{type(error).__name__}: {error}")
        return [outcome or failed or Outcome(None, "rerank_failed", "no result") for outcome in list(outcomes)]

    def _rank(self, window: Window, bags: Sequence[Bag]) -> Outcome:
        if window.search.page.is_behind:
            return Outcome(None, "beyond_window", is_skipped=True)
        if not window.hits:
            return Outcome(None, NO_HITS, is_skipped=True)
        ranking = self.ranker.rank(window.search, window.hits, bags)
        if ranking is None:
            return Outcome(None, "no_text_in_hits", "no hit has a word with an embedding")
        return Outcome(ranking, "" if window.search.translations is None else TRANSLATED)


def window_of(search: ProxySearch, answer: SearchAnswer) -> Window:
    """The hits that are to be re-ranked."""
    return Window(search, [] if search.page.is_behind else answer.found[: search.page.window])


def written(search: ProxySearch, answer: SearchAnswer, outcome: Outcome, added_ms: float) -> str:
    """The caller's page of an answer, re-ranked or not, without what he did not ask for."""
    n_hits = len(answer.found)
    ranking = outcome.ranking
    if search.page.is_behind:
        # The first hit of all pages is not at hand, so its score is not known.
        places, max_score = search.page.behind(n_hits), "null"
    elif ranking is None:
        places, max_score = search.page.first_stage(n_hits), None
    else:
        places = search.page.cut(ranking.hits, n_hits, ranking.ordering)
        max_score = float_text(ranking.hits[0].score)
    return answer.rearranged(
        places,
        max_score,
        added_ms,
        search.source_filter,
        search.added_keys,
        search.with_details,
        _shown(search.translations),
    )


def _shown(translations: Mapping[str, Sequence[WordGroup]] | None) -> dict[str, Any] | None:
    """By language, query word and its translations their weights."""
    if translations is None:
        return None
    return {
        language: {
            group.token: {each.term: round(each.weight, _WEIGHT_DECIMALS) for each in group.translations}
            for group in groups
        }
        for language, groups in translations.items()
    }
