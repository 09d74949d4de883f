"""Keeps what is computed from a candidate alone with its bag: its mean embedding and its hubness.

Bags are cached by whoever reads texts and hits, so a document that is found often is computed once. What is kept is
forgotten with the bag, or when another re-ranker (other document frequencies, embeddings or hubness sample) ranks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.hubness import Hubness
from reranker.text.bags import BagOfWords
from reranker.transport.nbow import means_at
from reranker.transport.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class _Figures:
    """Of one bag in one language.

    Attributes:
        owner: tells who computed them.
        mean: (dim,) its mean embedding, of length 1 or 0.
        hubness: by the language of the query.
    """

    owner: object
    mean: NDArray[np.float32]
    hubness: dict[str, float] = field(default_factory=dict)


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
        known = [self._kept(bag, own) for bag, own in candidates]
        new = [place for place, one in enumerate(known) if one is None]
        if new:
            means = means_at(problem, np.array(new, dtype=np.int64), n_threads)
            for place, mean in zip(new, means, strict=True):
                bag, own = candidates[place]
                known[place] = bag.kept[own] = _Figures(self._owner, mean.copy())  # a view would keep the means of all
        figures = [one for one in known if one is not None]
        if not figures:
            return None
        problem.of_candidates.means = np.concatenate([one.mean for one in figures]).reshape(len(figures), -1)
        if not self._hubness.is_known(language):
            return None
        unmeasured = [place for place, one in enumerate(figures) if language not in one.hubness]
        if unmeasured:
            found = self._hubness.of(language, problem.of_candidates.means[unmeasured])
            if found is None:
                return None
            for place, value in zip(unmeasured, found.tolist(), strict=True):
                figures[place].hubness[language] = value
        return np.array([one.hubness[language] for one in figures])

    def _kept(self, bag: BagOfWords, language: str) -> _Figures | None:
        kept = bag.kept.get(language)
        return kept if isinstance(kept, _Figures) and kept.owner is self._owner else None
