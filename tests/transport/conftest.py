"""A table of seven terms on the unit circle, by which costs can be worked out by hand, and random bags for the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reranker.text.bags import WeightedBag

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


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def bag(term_ids: list[int], weights: list[float]) -> WeightedBag:
    return WeightedBag(np.array(term_ids, np.int32), np.array(weights, np.float64))


@pytest.fixture
def random_bag() -> Callable[[int], WeightedBag]:
    """Bags of k of the 400 terms, the same ones in each run."""
    random = np.random.default_rng(11)

    def make(k: int) -> WeightedBag:
        weights = random.random(k) + 0.05
        return WeightedBag(np.sort(random.choice(400, k, replace=k > 400)).astype(np.int32), weights / weights.sum())

    return make


def exact_cost(query: WeightedBag, document: WeightedBag, table: np.ndarray) -> np.ndarray:
    """The ground cost by its definition, word pair by word pair."""
    x, y = table[query.term_ids].astype(np.float64), table[document.term_ids].astype(np.float64)
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))
