"""Other implementations of the same distances. The time of each side includes its cost matrices.

A side takes a workload and a number of threads, and returns the (n_candidates,) distances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import ot
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.workload import Workload
from reranker.text.bags import WeightedBag
from reranker.transport import Parameters, distances
from reranker.transport.candidate_costs import CandidateCosts
from reranker.transport.problem import checked_problem
from reranker.transport.solve import solve_from

EPSILON, N_ITERATIONS = 0.1, 50
# Candidates that POT's solver of many problems takes together.
BATCH = 50
Distances = NDArray[np.float64]
Solve = Callable[[Workload, int], Distances]


@dataclass(frozen=True, slots=True)
class Side:
    """One implementation.

    Attributes:
        work: kind of work; only sides with the same work are compared.
    """

    name: str
    work: str
    solve: Solve


def _ours(method: str, **parameters: Any) -> Solve:
    def solve(work: Workload, n_threads: int) -> Distances:
        solver_parameters = Parameters(EPSILON, **parameters)
        return distances(work.query, work.candidates, work.embeddings, method, solver_parameters, n_threads).values

    return solve


def _ours_in_double(work: Workload, n_threads: int) -> Distances:
    """The same in float64, which `distances` uses only for a small epsilon."""
    solver_parameters = Parameters(EPSILON, N_ITERATIONS, stop_at=0.0)
    problem = checked_problem(work.query, work.candidates, work.embeddings)
    return solve_from(CandidateCosts(problem, "float64", n_threads), [("sinkhorn", solver_parameters)])[0].values


def _cost(work: Workload, document: WeightedBag) -> NDArray[np.float64]:
    """The fastest cost matrix in NumPy, (n, m) double: one product of rows of norm 1."""
    x = work.embeddings[work.query.term_ids].astype(np.float64)
    y = work.embeddings[document.term_ids].astype(np.float64)
    return np.asarray(np.sqrt(np.maximum(2 - 2 * (x @ y.T), 0)))


def _bags(work: Workload) -> Iterator[WeightedBag]:
    return map(work.candidates.__getitem__, range(len(work.candidates)))


def _pot(solve_one: Callable[..., Any]) -> Solve:
    """One call of POT for each candidate; BLAS and OpenMP use `n_threads`."""

    def solve(work: Workload, n_threads: int) -> Distances:
        with threadpool_limits(n_threads):
            return np.array(
                [float(solve_one(work.query.weights, bag.weights, _cost(work, bag), n_threads)) for bag in _bags(work)]
            )

    return solve


def oracle(work: Workload, n_iterations: int = N_ITERATIONS, stop_at: float = 0) -> Distances:
    """The reference result: POT's plain algorithm in double, with costs from differences of vectors.

    Args:
        stop_at: marginal error at which it stops earlier.

    Raises:
        AssertionError: a plan of POT's does not have mass 1.
    """
    found = []
    x = work.embeddings[work.query.term_ids].astype(np.float64)
    for k, document in enumerate(_bags(work)):
        y = work.embeddings[document.term_ids].astype(np.float64)
        cost = ot.dist(x, y, "euclidean")
        plan = ot.sinkhorn(
            work.query.weights, document.weights, cost, EPSILON, numItermax=n_iterations, stopThr=stop_at, warn=False
        )
        if abs(plan.sum() - 1) > 1e-9:
            raise AssertionError(f"POT's plan of candidate {k} has mass {plan.sum()}")
        found.append((plan * cost).sum())
    return np.array(found)


def numpy_loop(work: Workload, n_threads: int) -> Distances:
    """Cuturi 2013 in straightforward NumPy: float32, one product for the costs of each candidate, then matrix-vector
    products. Threads share the candidates."""
    x = work.embeddings[work.query.term_ids]

    def tables(place: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        cost = np.sqrt(np.maximum(2 - 2 * (work.embeddings[work.candidates[place].term_ids] @ x.T), 0))
        return cost, np.exp(cost * np.float32(-1 / EPSILON))

    with threadpool_limits(1):
        return _loop(work, tables, n_threads)


def numpy_loop_sharing_costs(work: Workload, n_threads: int) -> Distances:
    """The same with one of our optimisations: one product for the costs of all distinct terms."""
    with threadpool_limits(n_threads):
        terms, index = np.unique(work.candidates.term_ids, return_inverse=True)
        costs = np.sqrt(np.maximum(2 - 2 * (work.embeddings[terms] @ work.embeddings[work.query.term_ids].T), 0))
        kernels = np.exp(costs * np.float32(-1 / EPSILON))

    def tables(place: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        start, end = work.candidates.offsets[place : place + 2]
        return costs[index[start:end]], kernels[index[start:end]]

    with threadpool_limits(1):
        return _loop(work, tables, n_threads)


Tables = Callable[[int], tuple[NDArray[np.float32], NDArray[np.float32]]]


def _loop(work: Workload, tables: Tables, n_threads: int) -> Distances:
    a = work.query.weights.astype(np.float32)

    def one(place: int) -> float:
        cost, kernel = tables(place)
        transposed, b = np.ascontiguousarray(kernel.T), work.candidates[place].weights.astype(np.float32)
        u = np.full(len(a), 1 / len(a), np.float32)
        for _ in range(N_ITERATIONS):
            v = b / (kernel @ u)
            u = a / (transposed @ v)
        return float(v @ ((kernel * cost) @ u))

    places = range(len(work.candidates))
    if n_threads == 1:
        return np.array([one(place) for place in places])
    with ThreadPoolExecutor(n_threads) as pool:
        return np.array(list(pool.map(one, places)))


def pot_batch(work: Workload, n_threads: int) -> Distances:
    """POT's solver of many problems at once (`ot.batch`, new in 2025), in double. It scales its first side first, which
    is the document here, as with the other sides."""
    from ot.batch import solve_batch

    found = []
    with threadpool_limits(n_threads):
        for n, cost, b in _batches(work):
            a = np.broadcast_to(work.query.weights, (BATCH, len(work.query)))
            columns = np.ascontiguousarray(cost.transpose(0, 2, 1))
            solved = solve_batch(columns, EPSILON, b, a, max_iter=N_ITERATIONS, tol=0, method="sinkhorn", grad="detach")
            found.append(solved.value_linear[:n])
    return np.concatenate(found)


def _batches(work: Workload) -> Iterator[tuple[int, Distances, Distances]]:
    """How many candidates there are in a batch, their costs (BATCH, n, longest) and weights (BATCH, longest): all are
    padded to one length with words of weight 0, and the last batch with candidates."""
    lengths = np.diff(work.candidates.offsets)
    longest = int(lengths.max())
    x = work.embeddings[work.query.term_ids].astype(np.float64)
    for first in range(0, len(lengths), BATCH):
        part = range(first, min(first + BATCH, len(lengths)))
        cost, b = np.ones((BATCH, len(x), longest)), np.zeros((BATCH, longest))
        b[len(part) :, 0] = 1
        for place, k in enumerate(part):
            document = work.candidates[k]
            products = x @ work.embeddings[document.term_ids].astype(np.float64).T
            cost[place, :, : len(document)] = np.sqrt(np.maximum(2 - 2 * products, 0))
            b[place, : len(document)] = document.weights
        yield len(part), cost, b


FIFTY = "50 iterations"
CONVERGED = "another stopping rule"
EXACT = "exact transport"
AUTO = "auto: two solves and mean embeddings"


OURS = "sinkrank, exactly 50 iterations"
BY_DEFAULT = "sinkrank, as by default"
SIDES = (
    Side(OURS, FIFTY, _ours("sinkhorn", n_iterations=N_ITERATIONS, stop_at=0.0)),
    Side("sinkrank, exactly 50 in double", FIFTY, _ours_in_double),
    Side(BY_DEFAULT, CONVERGED, _ours("sinkhorn")),
    Side("sinkrank auto", AUTO, _ours("auto")),
    Side(
        "POT sinkhorn_stabilized",
        FIFTY,
        _pot(
            lambda a, b, cost, _: ot.sinkhorn2(
                a, b, cost, EPSILON, method="sinkhorn_stabilized", numItermax=N_ITERATIONS, stopThr=0, warn=False
            )
        ),
    ),
    Side("POT batch", FIFTY, pot_batch),
    Side("NumPy float32 loop", FIFTY, numpy_loop),
    Side("NumPy float32 loop, shared costs", FIFTY, numpy_loop_sharing_costs),
    Side("sinkrank emd, all", EXACT, _ours("emd")),
    Side("POT emd2", EXACT, _pot(lambda a, b, cost, n_threads: ot.emd2(a, b, cost, numThreads=n_threads))),
)
