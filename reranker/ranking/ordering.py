"""Solves the transport between one query and its candidates, and puts them in order."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reranker.answers.search import Precision
from reranker.embeddings.query_encoder import QueryEncoding, Vector
from reranker.ranking.corrections import Corrections, order_distance
from reranker.ranking.coverage import Coverage
from reranker.ranking.evidence import Evidence, translated_share
from reranker.ranking.feedback import moved_query
from reranker.ranking.neighbours import neighbour_scores
from reranker.ranking.ranked import RankedDocuments, Reasons, Reranking
from reranker.ranking.relevance import FindCoverage, Relevance
from reranker.ranking.sources import Sources
from reranker.transport import Distances, Parameters
from reranker.transport.methods import part_shares, solve_problem
from reranker.transport.nbow import candidate_means
from reranker.transport.problem import Problem
from reranker.transport.pruning import nearest_by_emd

# Of sums of some ten numbers up to 1.
_DECIMALS = 12


class Ordering:
    """Orders the candidates of one query.

    Args:
        problem: the query and the candidates, checked.
        corrections: of the candidates.
    """

    def __init__(
        self,
        problem: Problem,
        corrections: Corrections,
        method: str,
        parameters: Parameters,
        n_threads: int,
    ) -> None:
        self._problem = problem
        self._bags = problem.candidates
        self._n_empty = len(self._bags) - int(np.count_nonzero(np.diff(self._bags.offsets)))
        self._corrections = corrections
        self._method = method
        self._parameters = parameters
        # By the words that were asked for, also when the moved query has more.
        self._shares = part_shares(method, len(problem.query))
        self._n_threads = n_threads

    def by_distance(self, top_n: int | None, coverage: FindCoverage | None = None) -> Reranking:
        """The nearest `top_n` first (all where it is None), by distance and correction alone.

        Args:
            coverage: of the query by the candidates, for their relevance; None where nobody asks for that.
        """
        moves, n_solved = self._corrections, len(self._bags) - self._n_empty
        if self._method == "emd" and top_n is not None and top_n < n_solved:  # else bounds would spare none
            found, n_solved = nearest_by_emd(self._problem, self._parameters, top_n, self._n_threads)
        else:
            found = self._solve(self._problem)
        scores = 1.0 / (1.0 + order_distance(found.values, moves.unknown_share, moves.offset))
        relevance = self._relevance(coverage, None, found.values, scores)
        order = np.argsort(found.values + moves.offset, kind="stable")[:top_n]
        reasons = Reasons(moves, self._bags, relevance=relevance)
        documents = RankedDocuments(order, found.values[order], scores[order], reasons)
        return self._reranking(documents, found, n_solved)

    def by_evidence(
        self,
        first_stage: NDArray[np.float64],
        with_feedback: bool,
        with_neighbours: bool,
        encoding: QueryEncoding | None = None,
        exact: NDArray[np.bool_] | None = None,
        first_stage_share: float | None = None,
        coverage: Coverage | None = None,
        translated: NDArray[np.bool_] | None = None,
        top_n: int | None = None,
    ) -> Reranking:
        """The best `top_n` (all where it is None), the highest score first, by all evidence together.

        Args:
            first_stage: (n,) scores of the candidates; NaN where there is none.
            with_feedback: whether to solve again for the moved query (`feedback`).
            with_neighbours: whether candidates speak for each other (`neighbours`).
            encoding: of the query; None where it is not encoded. It is asked for last, so that it may be computed
                meanwhile.
            exact, first_stage_share, coverage, translated: as of `Evidence`. Without coverage nobody asks for the
                relevance.
        """
        problem, bags, moved = self._problem, self._bags, None
        found = self._solve(problem)
        evidence = Evidence(
            first_stage,
            found.values,
            self._corrections,
            exact=exact,
            first_stage_share=first_stage_share,
            coverage=coverage,
            translated=translated,
            translated_share=translated_share(len(problem.query)),
        )
        sources = Sources(problem.query, bags, evidence)
        if with_feedback:
            sources.moved_by = evidence.scores()
            sources.moved_query = moved_query(problem.query, bags, sources.moved_by)
            # It holds words of the query and of the candidates alone, with weights above 0 that sum to 1: no check.
            moved = self._solve(replace(problem, query=sources.moved_query))
            evidence.add_feedback(moved.values)
        sources.encoded = None if encoding is None else encoding().result()
        cosines = None if sources.encoded is None else self._encoder_cosines(sources.encoded)
        if cosines is not None:
            evidence.add_encoder(cosines)
        if with_neighbours:
            sources.neighbours_by = evidence.scores()
            evidence.add_neighbours(neighbour_scores(bags, sources.neighbours_by))
        totals = evidence.scores()
        # What rounding leaves between equal candidates must not order them.
        order = np.argsort(-totals.round(_DECIMALS), kind="stable")[:top_n]
        known = None if coverage is None else lambda: coverage
        relevance = self._relevance(known, cosines, found.values, totals)
        reasons = Reasons(self._corrections, bags, evidence, sources, relevance)
        documents = RankedDocuments(order, found.values[order], totals[order], reasons)
        return self._reranking(documents, found, len(bags) - self._n_empty, moved)

    def _relevance(
        self,
        coverage: FindCoverage | None,
        cosines: NDArray[np.float64] | None,
        distances: NDArray[np.float64],
        scores: NDArray[np.float64],
    ) -> Relevance | None:
        return None if coverage is None else Relevance(coverage, cosines, distances, self._corrections, scores)

    def _solve(self, problem: Problem) -> Distances:
        return solve_problem(problem, self._method, self._parameters, self._n_threads, shares=self._shares)

    def _encoder_cosines(self, vector: Vector) -> NDArray[np.float64]:
        """Between the encoded query and each candidate (n,), NaN for one without a known word."""
        # Not by BLAS, which may start threads.
        cosines = np.einsum("ij,j->i", candidate_means(self._problem, self._n_threads), vector)
        return np.where(np.diff(self._problem.candidates.offsets) > 0, cosines, np.nan).astype(np.float64)

    def _reranking(
        self, documents: RankedDocuments, found: Distances, n_solved: int, moved: Distances | None = None
    ) -> Reranking:
        """Args: found, moved: the distances from the query, and from the moved query."""
        last, places = found if moved is None else moved, documents.order
        n_iterations = sum(int(each.n_iterations[places].sum()) for each in (found, moved) if each is not None)
        return Reranking(
            documents,
            self._method,
            cast(Precision, last.precision),
            int(np.count_nonzero(last.converged[places])),
            n_iterations,
            n_solved,
            len(self._bags),
            self._n_empty,
            moved is not None,
        )
