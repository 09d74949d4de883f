"""Solves exact optimal transport (`emd`) from costs that are computed already, one candidate after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from reranker.base.extras import extra
from reranker.text.bags import WeightedBags
from reranker.transport.parameters import CONVERGED_BELOW
from reranker.transport.reference import EMD_ITERATIONS
from reranker.transport.threads import run

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
# The costs (m, n) of the words from one place to another of all candidates' words.
CostOf = Callable[[int, int], Matrix]
# Of two weights, costs, iterations and threads: plan, distance, both potentials and how it ended.
Solver = Callable[[Vector, Vector, Matrix, int, int], tuple[Matrix, float, Vector, Vector, int]]

# Candidates that a thread takes at once.
PIECE = 8
# The solver's `result_code` for a plan that is optimal.
_OPTIMAL = 1


def distances(
    a: Vector, bags: WeightedBags, places: NDArray[np.int64], cost_of: CostOf, n_threads: int
) -> tuple[Vector, Vector, NDArray[np.int32]]:
    """The distances, marginal errors and iterations (0: not counted) of the candidates at some places; +inf for one
    without a word.

    By network simplex (POT; Bonneel et al. 2011). The error is 0 unless the solver gave up. POT's own entry checks the
    weights, converts them and makes the potentials as well; with few words that takes twice as long as the solve, so
    the solver beneath is called. It lets other threads run.

    Args:
        a: (n,) weights of the query's words.
    """
    values, errors = np.full(len(places), np.inf), np.zeros(len(places))

    def work(first: int, last: int) -> None:
        for k in range(first, last):
            start, end = bags.offsets[places[k]], bags.offsets[places[k] + 1]
            if start < end:
                b = bags.weights[start:end]
                values[k], errors[k] = _solved(b * (a.sum() / b.sum()), a, cost_of(start, end))

    run(work, [(first, min(first + PIECE, len(places))) for first in range(0, len(places), PIECE)], n_threads)
    return values, errors, np.zeros(len(places), np.int32)


def _solved(b: Vector, a: Vector, cost: Matrix) -> tuple[float, float]:
    plan, value, _, _, code = _solver()(b, a, np.ascontiguousarray(cost), EMD_ITERATIONS, 1)
    error = 0.0 if code == _OPTIMAL else max(float(np.abs(plan.sum(axis=1) - b).sum()), CONVERGED_BELOW)
    return max(value, 0.0), error  # rounding can leave -1e-17


@cache
def _solver() -> Solver:
    with extra("exact", "the method emd"):
        from ot.lp.emd_wrap import emd_c  # takes seconds, and no other method needs it
    return emd_c  # type: ignore[no-any-return]
