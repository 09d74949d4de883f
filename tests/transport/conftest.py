"""A table of seven terms on the unit circle, by which costs can be worked out by hand, and random bags for the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reranker import transport
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Distances, Parameters, reference
from reranker.transport.methods import part_shares, parts
from reranker.transport.problem import checked_problem

# Chord lengths: 60° is 1, 90° is sqrt 2, 180° is 2. Terms 5 and 6 are one vector under two ids.
ANGLES = (0, 60, 90, 180, 240, 300, 300)


@pytest.fixture
def circle() -> np.ndarray:
    angles = np.radians(ANGLES)
    return np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


@pytest.fixture(scope="session")
def table() -> np.ndarray:
    """400 terms in 20 dimensions."""
    rows = np.random.default_rng(7).standard_normal((400, 20)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


IMPLEMENTATIONS = ("reference", "compiled")


def distances(
    query: WeightedBag,
    candidates: WeightedBags,
    table: np.ndarray,
    method: str = "sinkhorn",
    parameters: Parameters = Parameters(),
    n_threads: int = 1,
    *,
    implementation: str = "compiled",
) -> Distances:
    """`transport.distances`, or the same by `transport.reference`, one candidate after the other."""
    if implementation == "compiled":
        return transport.distances(query, candidates, table, method, parameters, n_threads)
    problem = checked_problem(query, candidates, table)
    parameters = parameters.for_query(len(problem.query))
    components = parts(method, parameters)
    values, errors = np.full(len(candidates), np.inf), np.zeros(len(candidates))
    for place in np.flatnonzero(np.diff(problem.candidates.offsets)).tolist():
        values[place] = 0.0
        for share, each in zip(part_shares(method, len(problem.query)), components, strict=True):
            document = problem.candidates[place]
            plan, cost, errors[place] = reference.plan_and_cost(problem.query, document, table, *each)
            values[place] += share * max(float((plan * cost).sum()), 0.0)  # rounding can leave -1e-17
    converged, not_counted = errors < parameters.converged_below(), np.zeros(len(values), np.int32)
    return Distances(values, converged, errors, reference.precision(*components[-1]), not_counted)


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def bag(term_ids: list[int], weights: list[float]) -> WeightedBag:
    return WeightedBag(np.array(term_ids, np.int32), np.array(weights, np.float64))


NOTHING = bag([], [])


@pytest.fixture
def random_bag() -> Callable[[int], WeightedBag]:
    """Bags of k of the 400 terms, the same ones in each run."""
    random = np.random.default_rng(11)

    def make(k: int) -> WeightedBag:
        weights = random.random(k) + 0.05
        return WeightedBag(np.sort(random.choice(400, k, replace=k > 400)).astype(np.int32), weights / weights.sum())

    return make


def unit_rows(n: int, dim: int, seed: int = 5) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def exact_cost(query: WeightedBag, document: WeightedBag, table: np.ndarray) -> np.ndarray:
    """The ground cost by its definition, word pair by word pair."""
    x, y = table[query.term_ids].astype(np.float64), table[document.term_ids].astype(np.float64)
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))
