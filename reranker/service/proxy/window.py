"""The arithmetic of pages over a window of re-ranked hits: which hits to fetch, and which of them make the page.

With a window of W hits, page after page shows the W re-ranked hits and then the engine's own order, each hit once:

    from + size ≤ W     fetch the window, re-rank it, cut the page out
    from < W < …        fetch up to the page's end, re-rank the first W, leave the rest behind them
    from ≥ W            the engine's own page: behind the window both orders are the same
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reranker.scores import falling_scores
from reranker.service.proxy.answer import ENGINES_ORDER, Ordering, Place


@dataclass(frozen=True, slots=True)
class PagePlan:
    """A page that touches the window: fetch hits 0 to `n_fetch`, re-rank the first `window` of them."""

    offset: int
    size: int
    window: int

    @property
    def n_fetch(self) -> int:
        return max(self.window, self.offset + self.size)

    def cut(
        self,
        ranked: Sequence[tuple[int, float]],
        n_hits: int,
        ordering: Ordering,
        without_known_word: Collection[int] = (),
    ) -> list[Place]:
        """The page, best first.

        Args:
            ranked: (place, score) of the hits of the window in their new order, each place once.
            n_hits: hits that the engine brought, the window's among them.
            ordering: how the window was ordered; hits behind it are in the engine's order.
            without_known_word: the places of the hits of which no word has an embedding.
        """
        behind = falling_scores(ranked[-1][1] if ranked else 1.0, len(ranked), n_hits - len(ranked))
        whole = [
            Place(index, score, rank, ordering, index in without_known_word)
            for rank, (index, score) in enumerate(ranked, 1)
        ]
        whole += [
            Place(index, score, index + 1, ENGINES_ORDER)
            for index, score in zip(range(len(ranked), n_hits), behind, strict=True)
        ]
        return whole[self.offset : self.offset + self.size]

    def first_stage(self, n_hits: int) -> list[Place]:
        """The same page in the engine's own order and with its scores."""
        return [
            Place(index, None, index + 1, ENGINES_ORDER)
            for index in range(self.offset, min(n_hits, self.offset + self.size))
        ]


def plan_page(offset: int, size: int, window: int) -> PagePlan | None:
    """How to fetch the page; None where it lies behind the window or holds nothing."""
    if size <= 0 or offset < 0 or offset >= window:
        return None
    return PagePlan(offset, size, window)
