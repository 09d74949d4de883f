"""Keeps what is computed from a candidate alone with its bag: its weights, its mean embedding and its hubness.

Bags are cached by whoever reads texts and hits, so a document that is found often is computed once. What is kept is
forgotten with the bag, or when another re-ranker (other document frequencies, embeddings or hubness sample) ranks it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import Hubness
from reranker.text.bags import BagOfWords, WeightedBag, WeightedBags, end_to_end
from reranker.text.idf import IdfTable
from reranker.transport.nbow import means_at
from reranker.transport.problem import Problem, distinct_terms, weighed_problem


class _Figures(NamedTuple):
    """Of one bag.

    Attributes:
        owner: tells who computed them, and for which language of the bag.
        term_ids, weights: the bytes of the weighed bag, int32 and float64.
        mean: the bytes of its mean embedding (dim,), float32 of length 1 or 0.
        hubness: by the language of the query.
    """

    owner: object
    term_ids: bytes
    weights: bytes
    mean: bytes
    hubness: dict[str, float]


_NOTHING = _Figures(None, b"", b"", b"", {})


class KnownFigures:
    """Of the candidates of one re-ranker; safe to share between threads."""

    def __init__(self, idf: IdfTable, embeddings: Embeddings, hubness: Hubness) -> None:
        self._idf = idf
        self._embeddings = embeddings
        self._hubness = hubness
        # By language. Not itself: bags would keep the sample of a re-ranker that is gone.
        self._owners: defaultdict[str, object] = defaultdict(object)

    def problem(
        self, query: WeightedBag, language: str, candidates: Sequence[tuple[BagOfWords, str]], n_threads: int
    ) -> tuple[Problem, NDArray[np.float64] | None]:
        """The transport between a query and candidates, which are weighed and whose means are known to it; and the
        hubness of each candidate for queries in a language (n_candidates,), None where it is not known.

        Args:
            query: as `Query.checked` gives it.
            candidates: bags, each with its language.

        Raises:
            BadInput: as `distinct_terms`.
        """
        owners = [self._owners[own] for _, own in candidates]
        figures = [bag.figures or _NOTHING for bag, _ in candidates]
        if [one.owner for one in figures] != owners:
            self._complete(query, candidates, figures, owners, n_threads)
        vectors, offsets = self._embeddings.vectors, np.zeros(len(figures) + 1, dtype=np.int64)
        _, of_terms, of_weights, of_means, _ = zip(*figures, strict=True) if figures else [()] * 5
        np.add.accumulate([len(each) >> 2 for each in of_terms], out=offsets[1:])
        term_ids, weights = end_to_end(of_terms, np.int32), end_to_end(of_weights, np.float64)
        bags = WeightedBags(term_ids, weights, offsets, distinct_terms(term_ids, len(vectors), are_checked=True))
        problem = weighed_problem(query, bags, vectors)
        if not figures:
            return problem, None
        means = end_to_end(of_means, np.float32).reshape(len(figures), -1)
        problem.of_candidates.means = means
        return problem, self._hubness_of(language, figures, means)

    def _complete(
        self,
        query: WeightedBag,
        candidates: Sequence[tuple[BagOfWords, str]],
        figures: list[_Figures],
        owners: Sequence[object],
        n_threads: int,
    ) -> None:
        """Computes what is not known yet, and keeps it with the bags."""
        new = [place for place, owner in enumerate(owners) if figures[place].owner is not owner]
        vectors = self._embeddings.vectors
        bags = self._idf.weigh_all([candidates[k] for k in new], partial(distinct_terms, n_terms=len(vectors)))
        means = means_at(Problem(query, bags, vectors), np.arange(len(bags)), n_threads)
        offsets, of_terms, of_weights = bags.offsets.tolist(), bags.term_ids.tobytes(), bags.weights.tobytes()
        for place, start, end, mean in zip(new, offsets, offsets[1:], means, strict=False):
            term_ids, weights = of_terms[4 * start : 4 * end], of_weights[8 * start : 8 * end]
            kept = _Figures(owners[place], term_ids, weights, mean.tobytes(), {})
            figures[place] = candidates[place][0].figures = kept

    def _hubness_of(
        self, language: str, figures: Sequence[_Figures], means: NDArray[np.float32]
    ) -> NDArray[np.float64] | None:
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
