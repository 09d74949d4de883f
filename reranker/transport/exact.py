"""Solves a checked problem by exact optimal transport (`emd`), one candidate after the other."""

from __future__ import annotations

import numpy as np

from reranker.transport import reference
from reranker.transport.parameters import Parameters
from reranker.transport.problem import Problem
from reranker.transport.results import Distances
from reranker.transport.threads import one_blas_thread, run

# Candidates that a thread takes at once.
PIECE = 8


def distances(problem: Problem, parameters: Parameters, n_threads: int) -> Distances:
    """The distances of all candidates."""
    candidates = problem.candidates
    values, errors = np.full(len(candidates), np.inf), np.zeros(len(candidates))

    def work(first: int, last: int) -> None:
        for place in range(first, last):
            document = candidates[place]
            if len(document):
                plan, cost, errors[place] = reference.plan_and_cost(
                    problem.query, document, problem.embeddings, "emd", parameters
                )
                values[place] = max(float((plan * cost).sum()), 0.0)  # rounding can leave -1e-17

    pieces = [(first, min(first + PIECE, len(candidates))) for first in range(0, len(candidates), PIECE)]
    with one_blas_thread():
        run(work, pieces, n_threads)
    converged, no_iterations = errors < parameters.converged_below(), np.zeros(len(values), np.int32)
    return Distances(values, "emd", converged, errors, "float64", no_iterations)
