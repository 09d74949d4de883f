"""Solves the transport between one query and its candidates, and puts them in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reranker.answers.search import Precision
from reranker.embeddings.query_encoder import QueryEncoding
from reranker.ranking.corrections import Corrections, order_distance
from reranker.ranking.evidence import Evidence, translated_share
from reranker.ranking.feedback import moved_query
from reranker.ranking.neighbours import neighbour_scores
from reranker.ranking.ranked import RankedDocument, Reasons, Reranking
from reranker.ranking.scores import score, scores_of_totals
from reranker.text.bags import WeightedBag
from reranker.transport import Distances, Parameters, auto_shares
from reranker.transport.methods import solve_problem
from reranker.transport.nbow import candidate_means
from reranker.transport.nearest import nearest_of
from reranker.transport.problem import Problem


class Ordering:
    """Orders the candidates of one query.

    Args:
        query: weighed; `problem` holds it and the candidates, checked.
        corrections: of the candidates.
        indices: of each candidate, which the ranked documents have.
    """

    def __init__(
        self,
        query: WeightedBag,
        problem: Problem,
        corrections: Corrections,
        indices: Sequence[int],
        method: str,
        parameters: Parameters,
        n_threads: int,
    ) -> None:
        self._query = query
        self._problem = problem
        self._bags = problem.candidates
        self._corrections = corrections
        self._indices = indices
        self._method = method
        # By the words that were asked for, also when the moved query has more.
        self._parameters = replace(parameters, shares=parameters.shares or auto_shares(len(query)))
        self._n_threads = n_threads

    def by_distance(self, top_n: int) -> Reranking:
        """The nearest `top_n` first, by distance and correction alone."""
        moves = self._corrections
        found = nearest_of(
            self._problem,
            top_n,
            self._method,
            self._parameters,
            self._n_threads,
            offsets=moves.offset,
        )
        ordered_by = order_distance(found.distances.values, moves.unknown_share, moves.offset[found.order])
        scores = [score(each) for each in ordered_by.tolist()]
        documents = self._ranked(found.order, found.distances.values, scores, Reasons(moves))
        return self._reranking(documents, found.distances, found.n_solved)

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
        problem, bags, moved = self._problem, self._bags, None
        found = self._solve(problem)
        evidence = Evidence(
            first_stage,
            found.values,
            self._corrections,
            exact=exact,
            first_stage_share=first_stage_share,
            translated=translated,
            translated_share=translated_share(len(self._query)),
        )
        if with_feedback:
            moved = self._solve(problem.with_moved_query(moved_query(problem.query, bags, evidence.scores())))
            evidence = replace(evidence, feedback=moved.values)
        if encoding is not None:
            evidence = replace(evidence, encoder=self._encoder_cosines(encoding))
        if with_neighbours:
            evidence = replace(evidence, neighbours=neighbour_scores(bags, evidence.scores()))
        columns = evidence.columns()
        totals = columns[0] + columns[1:5].sum(axis=0) + columns[5] + columns[6] + columns[7]
        order = np.argsort(-totals, kind="stable")
        reasons = Reasons(self._corrections, columns)
        documents = self._ranked(order, found.values[order], scores_of_totals(totals[order]), reasons)
        n_solved = int(np.count_nonzero(np.diff(bags.offsets)))
        return self._reranking(documents, found, n_solved, moved)

    def _solve(self, problem: Problem) -> Distances:
        return solve_problem(problem, self._method, self._parameters, self._n_threads)

    def _encoder_cosines(self, encoding: QueryEncoding) -> NDArray[np.float64] | None:
        """Between the encoded query and each candidate (n,), NaN for one without a known word; None where the query
        cannot be encoded."""
        vector = encoding.vector()
        if vector is None:
            return None
        # Not by BLAS, which may start threads.
        cosines = np.einsum("ij,j->i", candidate_means(self._problem, self._n_threads), vector)
        return np.where(np.diff(self._problem.candidates.offsets) > 0, cosines, np.nan).astype(np.float64)

    def _ranked(
        self, order: NDArray[np.int64], distances: NDArray[np.float64], scores: list[float], reasons: Reasons
    ) -> tuple[RankedDocument, ...]:
        """Args: order: places of the candidates; distances and scores in this order."""
        indices, without = self._indices, np.isinf(distances).tolist()
        rows = zip(order.tolist(), distances.tolist(), scores, without, strict=True)
        return tuple(
            RankedDocument(indices[place], rank, distance, score, is_without, reasons, place)
            for rank, (place, distance, score, is_without) in enumerate(rows, start=1)
        )

    def _reranking(
        self, documents: tuple[RankedDocument, ...], found: Distances, n_solved: int, moved: Distances | None = None
    ) -> Reranking:
        """Args: found, moved: the distances from the query, and from the moved query."""
        last = found if moved is None else moved
        n_iterations = found.n_iterations.sum() + (0 if moved is None else moved.n_iterations.sum())
        return Reranking(
            documents,
            last.method,
            cast(Precision, last.precision),
            int(np.count_nonzero(last.converged)),
            int(n_iterations),
            n_solved,
            len(self._bags),
            int(np.count_nonzero(np.diff(self._bags.offsets) == 0)),
            moved is not None,
        )
