"""Compiles the kernels before they are needed, or while others are served."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport.methods import METHODS, distances, parts
from reranker.transport.nearest import nearest_documents
from reranker.transport.parameters import Parameters
from reranker.transport.problem import checked_problem
from reranker.transport.query_sample import QuerySample

# Words of queries for which there are loops of their own: a short one (up to `short_scaling.MOST_WORDS`), a longer one,
# and a long one (more than `fixed_point.LEAST_WORDS`).
_SHORT, _LONGER, _LONG = 2, 32, 256


def warm_up() -> None:
    """Compiles every kernel by tiny solves (a minute at the first time, then read from disk); call it before
    forking, if it is quick (`loads_quickly`)."""
    from reranker.transport.solve import solve  # Numba takes a second to import

    bag, bags, table = _solve(_SHORT)
    for method in METHODS:
        if method != "emd":
            distances(bag, bags, table, method)
    if find_spec("ot") is not None:  # else `emd` asks for the extra `exact`
        nearest_documents(bag, bags, table, 1, "emd")
    for method, epsilon in (("rwmd", 0.1), ("sinkhorn", 0.1), ("sinkhorn", 0.02), ("sinkhorn", 0.01)):  # also float64
        distances(bag, bags, table, method, Parameters(epsilon=epsilon))
        distances(*_solve(_LONGER), method, Parameters(epsilon=epsilon))
    for n in (_SHORT, _LONGER):  # step by step, as what is larger than this is solved (`solve.is_short`)
        solve(checked_problem(*_solve(n)), parts("auto", Parameters().for_query(n)))
    distances(bag, bags, table, "sinkhorn", Parameters(epsilon=0.001))  # in the log domain
    distances(*_solve(_LONG), "rwmd")  # products in fixed point
    QuerySample(np.eye(2, dtype=np.float32), 1).mean_cosines(np.eye(2, dtype=np.float32))
    from reranker.transport.kernels.feedback import moved_words
    from reranker.transport.kernels.likeness import neighbour_means

    places = np.arange(3)
    ids, two, ones = places[:2].astype(np.int32), places[:2], np.ones(2)
    moved_words(ids, ids, places, ones, two, ones, ids, ones, 1, 0.5)
    neighbour_means(ids, places, ones, 2, two, ones, 1)
    from reranker.transport.kernels.compiling import note_all_kept

    note_all_kept()


def loads_quickly() -> bool:
    """Whether `warm_up` finds the kernels on disk, compiled for this machine, and takes about a second."""
    from reranker.transport.kernels import likeness, scaling  # noqa: F401  their folder is then known
    from reranker.transport.kernels.compiling import are_all_kept

    return are_all_kept()


def _solve(n: int) -> tuple[WeightedBag, WeightedBags, NDArray[np.float32]]:
    """A query of n words, two copies of it, and embeddings."""
    bag = WeightedBag(np.arange(n, dtype=np.int32), np.full(n, 1 / n))
    return bag, WeightedBags.join([bag] * 2), np.eye(n, dtype=np.float32)
