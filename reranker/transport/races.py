"""Orders candidates by a few iterations first, and solves the best of them to the end: fast, and not certified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag, WeightedBags
from reranker.transport.batch import GroundCosts, table_precision
from reranker.transport.cost_cache import CostCache
from reranker.transport.methods import ITERATED, mixed, part_shares, parts
from reranker.transport.problem import Distances, Parameters

# After five iterations the order is nearly that of fifty (docs/evaluation.md), and nobody reads 64 hits: one of the
# first ten would have to lie behind so many others then to be lost.
HEAT_ITERATIONS = 5
FINALISTS = 64


def is_race(method: str, parameters: Parameters, n_candidates: int) -> bool:
    """Whether a race saves anything: the method iterates, and there are more candidates than finalists."""
    iterates = method in ITERATED and parameters.n_iterations > HEAT_ITERATIONS
    return iterates and n_candidates > FINALISTS


def race(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    method: str,
    parameters: Parameters,
    offsets: NDArray[np.float64],
    n_threads: int = 1,
    cost_cache: CostCache | None = None,
) -> tuple[Distances, NDArray[np.bool_]]:
    """Distances of all candidates by `sinkhorn`, `relaxed` or `auto`, and which were solved to the end; takes checked
    bags.

    All candidates run `HEAT_ITERATIONS`, and the nearest `FINALISTS` by these begin anew and run to the end. The others
    stand behind them, with the distance of their few iterations, or one just above the finalists' largest where that is
    more. Offsets (n_candidates,) are added to distances wherever these are compared.
    """
    shares, final = part_shares(method, parameters, len(query)), parts(method, parameters)
    heat = [(part, replace(each, n_iterations=min(each.n_iterations, HEAT_ITERATIONS))) for part, each in final]
    costs = GroundCosts(query, candidates, embeddings, table_precision(*final[-1]), n_threads, cost_cache)
    found = mixed(method, shares, costs.solve_all(heat))
    order = np.argsort(found.values + offsets, kind="stable")
    finalists, others = order[:FINALISTS], order[FINALISTS:]
    best = mixed(method, shares, costs.solve_all(final, finalists))
    last = np.nextafter((best.values + offsets[finalists]).max(), np.inf)
    # One step more than the difference: rounded, the sum is then not below the last.
    found.values[others] = np.maximum(found.values[others], np.nextafter(last - offsets[others], np.inf))
    found.values[finalists] = best.values
    found.converged[finalists] = best.converged
    found.marginal_error[finalists] = best.marginal_error
    found.n_iterations[finalists] += best.n_iterations
    finished = np.zeros(len(candidates), dtype=np.bool_)
    finished[finalists] = True
    return found, finished
