"""Compiles the kernels before they are needed."""

from __future__ import annotations

import numpy as np

from reranker.bags import WeightedBag, WeightedBags
from reranker.transport.cost_cache import CostCache
from reranker.transport.methods import METHODS, distances
from reranker.transport.nearest import nearest_documents
from reranker.transport.problem import Parameters


def warm_up() -> None:
    """Compiles every kernel by tiny solves (a minute at the first time, then read from disk); call it before
    forking."""
    table = np.eye(2, dtype=np.float32)
    bag = WeightedBag(np.arange(2, dtype=np.int32), np.full(2, 0.5))
    bags = WeightedBags.join([bag] * 2)
    for method in METHODS:
        distances(bag, bags, table, method)
        nearest_documents(bag, bags, table, 1, method)
    nearest_documents(bag, bags, table, 1, "sinkhorn", Parameters(epsilon=0.02))  # bounds from float64 tables
    kept = CostCache()
    for method, epsilon in (("rwmd", 0.1), ("sinkhorn", 0.1), ("sinkhorn", 0.02), ("sinkhorn", 0.01)):  # also float64
        distances(bag, bags, table, method, Parameters(epsilon=epsilon), cost_cache=kept)  # kernels of kept costs
    distances(bag, bags, table, "sinkhorn", Parameters(epsilon=0.001))  # in the log domain
