"""Solves the transport between one query and its candidates, and puts them in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reranker.answers.search import Precision
from reranker.ranking.corrections import Correction, order_distance
from reranker.ranking.evidence import Evidence, translated_share
from reranker.ranking.feedback import moved_query
from reranker.ranking.neighbours import neighbour_scores
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.scores import score, score_of
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Nearest, Parameters, auto_shares, nearest_documents
from reranker.transport.cost_cache import CostCache


class Ordering:
    """Orders the candidates of one query; the documents' indices are the places of their bags."""

    def __init__(
        self,
        query: WeightedBag,
        bags: WeightedBags,
        corrections: Sequence[Correction],
        vectors: NDArray[np.float32],
        method: str,
        parameters: Parameters,
        n_threads: int,
        cost_cache: CostCache,
    ) -> None:
        """
        Args:
            vectors: (n_terms, dim), rows of norm 1.
            corrections: of each candidate.
        """
        self._query = query
        self._bags = bags
        self._corrections = corrections
        self._offsets = np.array([correction.offset for correction in corrections])
        self._vectors = vectors
        self._method = method
        # By the words that were asked for, also when the moved query has more.
        self._parameters = replace(parameters, shares=parameters.shares or auto_shares(len(query)))
        self._n_threads = n_threads
        self._cost_cache = cost_cache

    def by_distance(self, top_n: int) -> Reranking:
        """The nearest `top_n` first, by distance and correction alone."""
        found = self._solve(self._query, top_n)
        unknown_share = self._corrections[0].unknown_share if self._corrections else 0.0
        ordered_by = order_distance(found.distances.values, unknown_share, self._offsets[found.order])
        rows = zip(found.order.tolist(), found.distances.values.tolist(), ordered_by.tolist(), strict=True)
        documents = tuple(
            RankedDocument(place, rank, distance, score(by), math.isinf(distance), self._corrections[place])
            for rank, (place, distance, by) in enumerate(rows, start=1)
        )
        return self._reranking(documents, [found])

    def by_evidence(
        self,
        first_stage: NDArray[np.float64],
        with_feedback: bool,
        with_neighbours: bool,
        exact: NDArray[np.bool_] | None = None,
        first_stage_share: float | None = None,
        translated: NDArray[np.bool_] | None = None,
    ) -> Reranking:
        """All candidates, the highest score first, by all evidence together.

        Args:
            first_stage: (n,) scores of the candidates; NaN where there is none.
            with_feedback: whether to solve again for the moved query (`feedback`).
            with_neighbours: whether candidates speak for each other (`neighbours`).
            exact, first_stage_share, translated: as of `Evidence`.
        """
        found = self._solve(self._query, len(self._bags))
        solves = [found]
        evidence = Evidence(
            first_stage,
            _in_place(found),
            self._corrections,
            exact=exact,
            first_stage_share=first_stage_share,
            translated=translated,
            translated_share=translated_share(len(self._query)),
        )
        if with_feedback:
            moved = moved_query(self._query, self._bags, evidence.scores())
            solves.append(self._solve(moved, len(self._bags)))
            evidence = replace(evidence, feedback=_in_place(solves[-1]))
        if with_neighbours:
            evidence = replace(evidence, neighbours=neighbour_scores(self._bags, evidence.scores()))
        parts = evidence.parts()
        order = np.argsort([-each.total for each in parts], kind="stable")
        documents = tuple(
            RankedDocument(
                place,
                rank,
                float(evidence.distances[place]),
                score_of(parts[place]),
                bool(np.isinf(evidence.distances[place])),
                self._corrections[place],
                parts[place],
            )
            for rank, place in enumerate(order.tolist(), start=1)
        )
        return self._reranking(documents, solves)

    def _solve(self, query: WeightedBag, k: int) -> Nearest:
        return nearest_documents(
            query,
            self._bags,
            self._vectors,
            k,
            self._method,
            self._parameters,
            self._n_threads,
            offsets=self._offsets,
            cost_cache=self._cost_cache,
        )

    def _reranking(self, documents: tuple[RankedDocument, ...], solves: Sequence[Nearest]) -> Reranking:
        last = solves[-1]
        return Reranking(
            documents,
            last.distances.method,
            cast(Precision, last.distances.precision),
            int(np.count_nonzero(last.distances.converged)),
            sum(int(found.distances.n_iterations.sum()) for found in solves),
            last.n_solved,
            len(self._bags),
            int(np.count_nonzero(np.diff(self._bags.offsets) == 0)),
            len(solves) > 1,
        )


def _in_place(found: Nearest) -> NDArray[np.float64]:
    """The distances of all candidates (n,), in the order in which they came."""
    distances = np.empty(len(found.order))
    distances[found.order] = found.distances.values
    return distances
