"""Keeps what is computed from a candidate alone with its bag: its mean embedding and its hubness.

Bags are cached by whoever reads texts and hits, so a document that is found often is computed once. What is kept is
forgotten with the bag, or when another re-ranker (other document frequencies, embeddings or hubness sample) ranks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.hubness import Hubness
from reranker.text.bags import BagOfWords, end_to_end
from reranker.transport.nbow import means_at
from reranker.transport.problem import Problem


class _Figures(NamedTuple):
    """Of one bag.

    Attributes:
        owner: tells who computed them; `language`: of the bag.
        mean: the bytes of its mean embedding (dim,), float32 of length 1 or 0.
        hubness: by the language of the query.
    """

    owner: object
    language: str
    mean: bytes
    hubness: dict[str, float]


class KnownFigures:
    """Of the candidates of one re-ranker; safe to share between threads."""

    def __init__(self, hubness: Hubness) -> None:
        self._hubness = hubness
        self._owner = object()  # not itself: bags would keep the sample of a re-ranker that is gone

    def hubness(
        self, language: str, candidates: Sequence[tuple[BagOfWords, str]], problem: Problem, n_threads: int
    ) -> NDArray[np.float64] | None:
        """That of each candidate for queries in a language (n_candidates,); None where it is not known. The means of
        the candidates are then known to the problem.

        Args:
            candidates: bags, each with its language; weighed they are the candidates of the problem.
        """
        figures: list[_Figures] = [bag.figures for bag, _ in candidates]
        new = [
            place
            for place, one in enumerate(figures)
            if one is None or one.owner is not self._owner or one.language != candidates[place][1]
        ]
        if new:
            for place, mean in zip(new, means_at(problem, np.array(new), n_threads), strict=True):
                bag, own = candidates[place]
                figures[place] = bag.figures = _Figures(self._owner, own, mean.tobytes(), {})
        if not figures:
            return None
        means = end_to_end([one.mean for one in figures], np.float32).reshape(len(figures), -1)
        problem.of_candidates.means = means
        if not self._hubness.is_known(language):
            return None
        values = [one.hubness.get(language) for one in figures]
        unmeasured = [place for place, value in enumerate(values) if value is None]
        if unmeasured:
            found = self._hubness.of(language, means if len(unmeasured) == len(means) else means[unmeasured])
            if found is None:
                return None
            for place, value in zip(unmeasured, found.tolist(), strict=True):
                values[place] = figures[place].hubness[language] = value
        return np.array(values, dtype=np.float64)
