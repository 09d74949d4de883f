"""The arithmetic of pages over a window of re-ranked hits: which hits to fetch, and which of them make the page.

With a window of W hits, page after page shows the W re-ranked hits and then the engine's own order, each hit once:

    from + size ≤ W     fetch the window, re-rank it, cut the page out
    from < W < …        fetch up to the page's end, re-rank the first W, leave the rest behind them
    from ≥ W            fetch the page and leave its order: behind the window both orders are the same

Scores fall over all pages: those behind the window are below every score in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reranker.proxy.answer import ENGINES_ORDER, Ordering, Place
from reranker.ranking.evidence import ScoreParts
from reranker.ranking.scores import scores_behind


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit of the window in its new place.

    Attributes:
        index: its place in the engine's order, from 0.
        parts: what the score is the sum of; None where it is of the distance alone.
        without_known_word: no word of it has an embedding.
    """

    index: int
    score: float
    parts: ScoreParts | None = None
    without_known_word: bool = False


@dataclass(frozen=True, slots=True)
class PagePlan:
    """A page of hits, of which the first `window` over all pages are re-ranked."""

    offset: int
    size: int
    window: int

    @property
    def is_behind(self) -> bool:
        """Whether no hit of the page is in the window, so that nothing is re-ranked."""
        return self.offset >= self.window

    @property
    def fetched_from(self) -> int:
        return self.offset if self.is_behind else 0

    @property
    def n_fetch(self) -> int:
        return self.size if self.is_behind else max(self.window, self.offset + self.size)

    def cut(self, ranked: Sequence[RankedHit], n_hits: int, ordering: Ordering) -> list[Place]:
        """The page, best first.

        Args:
            ranked: the hits of the window in their new order, each once.
            n_hits: hits that the engine brought, the window's among them.
            ordering: how the window was ordered; hits behind it are in the engine's order.
        """
        whole = [
            Place(hit.index, hit.score, rank, hit.index + 1, ordering, hit.without_known_word, hit.parts)
            for rank, hit in enumerate(ranked, 1)
        ]
        whole += self._behind(range(len(ranked), n_hits), first_rank=len(ranked) + 1)
        return whole[self.offset : self.offset + self.size]

    def behind(self, n_hits: int) -> list[Place]:
        """A page behind the window (`is_behind`), whose hits the engine brought alone."""
        return self._behind(range(min(n_hits, self.size)), first_rank=self.offset + 1)

    def first_stage(self, n_hits: int) -> list[Place]:
        """The same page in the engine's own order and with its scores."""
        return [
            Place(index, None, index + 1, index + 1, ENGINES_ORDER)
            for index in range(self.offset, min(n_hits, self.offset + self.size))
        ]

    def _behind(self, indices: range, first_rank: int) -> list[Place]:
        scores = scores_behind(self.window, max(first_rank, self.window + 1), len(indices))
        return [
            Place(index, score, rank, rank, ENGINES_ORDER)
            for rank, (index, score) in enumerate(zip(indices, scores, strict=True), start=first_rank)
        ]


def plan_page(offset: int, size: int, window: int) -> PagePlan | None:
    """How to fetch the page; None where it holds nothing."""
    return None if size <= 0 or offset < 0 else PagePlan(offset, size, window)
