"""Caches what is computed from a candidate alone: its weights, its mean embedding and its hubness.

Whoever reads texts and hits caches their bags, so a document that is found often is computed once. A bag holds what the
last re-ranker has computed of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import Hubness
from reranker.text.bags import BagOfWords, WeightedBag, WeightedBags, end_to_end
from reranker.text.idf import IdfTable
from reranker.transport.nbow import mean_embeddings
from reranker.transport.problem import Problem


class _Cached(NamedTuple):
    """Of one bag.

    Attributes:
        by: which cache it is of.
        language: of the bag, by whose document frequencies it was weighed.
        term_ids, weights: the bytes of the weighed bag, int32 and float64.
        mean: the bytes of its mean embedding (dim,), float32 of length 1 or 0.
        hubness: by the language of the query.
    """

    by: object
    language: str
    term_ids: bytes
    weights: bytes
    mean: bytes
    hubness: dict[str, float]


class CandidateCache:
    """The cache of one re-ranker, whose document frequencies, embeddings and hubness sample never change; safe to share
    between threads."""

    def __init__(self, idf: IdfTable, embeddings: Embeddings, hubness: Hubness) -> None:
        self._idf = idf
        self._embeddings = embeddings
        self._hubness = hubness
        self._by = object()

    def problem(
        self, query: WeightedBag, language: str, candidates: Sequence[tuple[BagOfWords, str]], n_threads: int
    ) -> tuple[Problem, NDArray[np.float64] | None]:
        """The transport between a query and candidates, which are weighed and whose means are known to it; and the
        hubness of each candidate for queries in a language (n_candidates,), None where it is not known.

        Args:
            query: as `Query.checked` gives it.
            candidates: bags, each with its language.

        Raises:
            BadInput: as `IdfTable.weigh_all`.
        """
        vectors, cached = self._embeddings.vectors, [bag.weighed for bag, _ in candidates]
        missing = [
            place
            for place, (one, (_, language)) in enumerate(zip(cached, candidates, strict=True))
            if one is None or one.by is not self._by or one.language != language
        ]
        if 2 * len(missing) > len(cached):  # to compute the rest again takes less than to lay all end to end
            bags, means = self._weigh(candidates, n_threads)
            cached = self._keep(candidates, bags, means)
        else:
            if missing:
                new = [candidates[place] for place in missing]
                for place, one in zip(missing, self._keep(new, *self._weigh(new, n_threads)), strict=True):
                    cached[place] = one
            bags, means = self._joined(cached)
        hubness = self._hubness_of(language, cached, means) if cached else None
        return Problem(query, bags, vectors, means), hubness

    def _weigh(
        self, candidates: Sequence[tuple[BagOfWords, str]], n_threads: int
    ) -> tuple[WeightedBags, NDArray[np.float32]]:
        """The candidates' weights and means."""
        vectors = self._embeddings.vectors
        bags = self._idf.weigh_all(candidates, len(vectors))
        return bags, mean_embeddings(bags, vectors, n_threads)

    def _keep(
        self, candidates: Sequence[tuple[BagOfWords, str]], bags: WeightedBags, means: NDArray[np.float32]
    ) -> list[_Cached]:
        """Caches the weights and means of candidates."""
        offsets, row = bags.offsets.tolist(), means[:1].nbytes
        of_terms, of_weights, of_means = bags.term_ids.tobytes(), bags.weights.tobytes(), means.tobytes()
        cached = []
        for number, ((bag, language), start, end) in enumerate(zip(candidates, offsets, offsets[1:], strict=False)):
            term_ids, weights = of_terms[4 * start : 4 * end], of_weights[8 * start : 8 * end]
            mean = of_means[row * number : row * (number + 1)]
            cached.append(_Cached(self._by, language, term_ids, weights, mean, {}))
            bag.weighed = cached[-1]
        return cached

    def _joined(self, cached: Sequence[_Cached]) -> tuple[WeightedBags, NDArray[np.float32]]:
        """The weights and means of candidates, end to end."""
        offsets = np.zeros(len(cached) + 1, dtype=np.int64)
        _, _, of_terms, of_weights, of_means, _ = zip(*cached, strict=True) if cached else [()] * 6
        np.add.accumulate([len(each) >> 2 for each in of_terms], out=offsets[1:])
        term_ids, weights = end_to_end(of_terms, np.int32), end_to_end(of_weights, np.float64)
        means = end_to_end(of_means, np.float32).reshape(len(cached), self._embeddings.dim)
        return WeightedBags(term_ids, weights, offsets), means

    def _hubness_of(
        self, language: str, cached: Sequence[_Cached], means: NDArray[np.float32]
    ) -> NDArray[np.float64] | None:
        queries = self._hubness.queries(language)
        if queries is None:
            return None
        values = [one.hubness.get(language) for one in cached]
        unmeasured = [place for place, value in enumerate(values) if value is None]
        if unmeasured:
            found = queries.hubness(means if len(unmeasured) == len(means) else means[unmeasured])
            for place, value in zip(unmeasured, found.tolist(), strict=True):
                values[place] = cached[place].hubness[language] = value
        return np.array(values, dtype=np.float64)
