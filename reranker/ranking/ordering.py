"""Solves the transport between one query and its candidates, and puts them in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reranker.answers.search import Precision
from reranker.embeddings.query_encoder import QueryEncoding
from reranker.ranking.corrections import Correction, CorrectionArrays, order_distance
from reranker.ranking.evidence import Evidence, translated_share
from reranker.ranking.feedback import moved_query
from reranker.ranking.neighbours import Distinct, neighbour_scores
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.scores import score, score_of_total
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Nearest, Parameters, auto_shares
from reranker.transport.cost_cache import CostCache
from reranker.transport.nbow import candidate_means
from reranker.transport.nearest import nearest_of
from reranker.transport.problem import Problem


class Ordering:
    """Orders the candidates of one query.

    Args:
        query, bags: weighed; `problem` holds the same, checked.
        corrections: of each candidate.
        indices: of each candidate, which the ranked documents have.
    """

    def __init__(
        self,
        query: WeightedBag,
        problem: Problem,
        bags: WeightedBags,
        corrections: Sequence[Correction],
        indices: Sequence[int],
        method: str,
        parameters: Parameters,
        n_threads: int,
        cost_cache: CostCache,
    ) -> None:
        self._query = query
        self._problem = problem
        self._bags = bags
        self._corrections = corrections
        self._moves = CorrectionArrays.from_corrections(corrections)
        self._indices = indices
        self._method = method
        # By the words that were asked for, also when the moved query has more.
        self._parameters = replace(parameters, shares=parameters.shares or auto_shares(len(query)))
        self._n_threads = n_threads
        self._cost_cache = cost_cache

    def by_distance(self, top_n: int) -> Reranking:
        """The nearest `top_n` first, by distance and correction alone."""
        found = self._solve(self._problem, top_n)
        moves = self._moves
        ordered_by = order_distance(found.distances.values, moves.unknown_share, moves.offset[found.order])
        rows = zip(found.order.tolist(), found.distances.values.tolist(), ordered_by.tolist(), strict=True)
        documents = tuple(
            RankedDocument(
                self._indices[place], rank, distance, score(by), math.isinf(distance), self._corrections[place]
            )
            for rank, (place, distance, by) in enumerate(rows, start=1)
        )
        return self._reranking(documents, [found])

    def by_evidence(
        self,
        first_stage: NDArray[np.float64],
        with_feedback: bool,
        with_neighbours: bool,
        encoding: QueryEncoding | None = None,
        exact: NDArray[np.bool_] | None = None,
        first_stage_share: float | None = None,
        translated: NDArray[np.bool_] | None = None,
    ) -> Reranking:
        """All candidates, the highest score first, by all evidence together.

        Args:
            first_stage: (n,) scores of the candidates; NaN where there is none.
            with_feedback: whether to solve again for the moved query (`feedback`).
            with_neighbours: whether candidates speak for each other (`neighbours`).
            encoding: of the query; None where it is not encoded. It is asked for last, so that it may be computed
                meanwhile.
            exact, first_stage_share, translated: as of `Evidence`.
        """
        problem, bags = self._problem, self._bags
        found = self._solve(problem, len(bags))
        solves = [found]
        evidence = Evidence(
            first_stage,
            _in_place(found),
            self._corrections,
            exact=exact,
            first_stage_share=first_stage_share,
            translated=translated,
            translated_share=translated_share(len(self._query)),
            arrays=self._moves,
        )
        if with_feedback:
            moved = moved_query(self._query, bags, evidence.scores())
            solves.append(self._solve(problem.with_query(moved), len(bags)))
            evidence = replace(evidence, feedback=_in_place(solves[-1]))
        if encoding is not None:
            evidence = replace(evidence, encoder=self._encoder_cosines(encoding))
        if with_neighbours:
            evidence = replace(evidence, neighbours=neighbour_scores(bags, evidence.scores(), self._distinct()))
        parts, distances = evidence.parts(), evidence.distances.tolist()
        totals = [each.total for each in parts]
        documents = tuple(
            RankedDocument(
                self._indices[place],
                rank,
                distances[place],
                score_of_total(totals[place]),
                math.isinf(distances[place]),
                self._corrections[place],
                parts[place],
            )
            for rank, place in enumerate(np.argsort(np.negative(totals), kind="stable").tolist(), start=1)
        )
        return self._reranking(documents, solves)

    def _solve(self, problem: Problem, k: int) -> Nearest:
        return nearest_of(
            problem,
            k,
            self._method,
            self._parameters,
            self._n_threads,
            offsets=self._moves.offset,
            cost_cache=self._cost_cache,
        )

    def _encoder_cosines(self, encoding: QueryEncoding) -> NDArray[np.float64] | None:
        """Between the encoded query and each candidate (n,), NaN for one without a known word; None where the query
        cannot be encoded."""
        vector = encoding.vector()
        if vector is None:
            return None
        cosines = candidate_means(self._problem, self._n_threads) @ vector
        return np.where(np.diff(self._problem.candidates.offsets) > 0, cosines, np.nan).astype(np.float64)

    def _distinct(self) -> Distinct | None:
        """Of the bags, where the transport has found them out; not where it left words without weight out."""
        known = self._problem.of_candidates
        if known.terms is None or known.index is None or len(known.index) != len(self._bags.term_ids):
            return None
        return known.terms, known.index

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
