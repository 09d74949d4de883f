"""Finds the documents nearest by exact transport without solving for all of them: prefetch and prune."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag, WeightedBags
from reranker.errors import WrongParameter
from reranker.transport import reference
from reranker.transport.cost import ground_cost
from reranker.transport.problem import Parameters, check_embeddings, checked_candidates, checked_query
from reranker.transport.threads import one_blas_thread, run

# Bound and distance are both computed in double precision from the same embeddings: their sums are off by some 1e-14.
MARGIN = 1e-9
# Documents solved between two looks at the k-th best distance, for each thread.
SOLVED_TOGETHER = 4


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The nearest documents by `emd`.

    Attributes:
        order: (min(k, n_candidates),) places among the candidates, nearest first, ties in the order of the candidates.
        values: their distances; +inf for a candidate with no known word.
        n_solved: how many exact transports it took.
    """

    order: NDArray[np.int64]
    values: NDArray[np.float64]
    n_solved: int


def nearest_by_emd(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    k: int = 10,
    prefetch: int | None = None,
    n_threads: int = 1,
) -> Nearest:
    """The k candidates that `distances(…, "emd")` puts first, and the same distances (Kusner et al. 2015, 4).

    `rwmd` of all candidates is a lower bound of their `emd`. In the order of this bound, candidates are solved until
    it is above the k-th best distance found: none of the rest can be among the nearest.

    Args:
        k: how many, 1 or more.
        prefetch: how many are solved before the first look at the bound; None: k.
        n_threads: the most threads that may work.

    Raises:
        BadInput: as `distances`.
        WrongParameter: k, prefetch or n_threads is below 1.

    >>> table = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    >>> bags = [WeightedBag(np.array([i], np.int32), np.ones(1)) for i in (2, 1, 0)]
    >>> found = nearest_by_emd(bags[2], WeightedBags.join(bags), table, k=2)
    >>> found.order, found.values.round(4), found.n_solved
    (array([2, 1]), array([0.    , 1.4142]), 2)
    """
    prefetch = k if prefetch is None else prefetch
    for name, number in (("k", k), ("prefetch", prefetch), ("n_threads", n_threads)):
        if number < 1:
            raise WrongParameter(f"{name} is {number}; give 1 or more")
    check_embeddings(embeddings)
    checked = checked_query(query, embeddings)
    documents = checked_candidates(candidates, len(embeddings))
    bounds = lower_bounds(checked, documents, embeddings, n_threads) - MARGIN
    by_bound = np.argsort(bounds, kind="stable")
    values = np.full(len(documents), np.inf)

    def solve(first: int, last: int) -> None:
        for place in by_bound[first:last]:
            document = documents[int(place)]
            cost = ground_cost(checked.term_ids, document.term_ids, embeddings)
            plan, _ = reference.emd_plan(checked.weights, document.weights, cost)
            values[place] = max(float((plan * cost).sum()), 0.0)

    n_solved, step = 0, max(prefetch, k)
    n_possible = int(np.isfinite(bounds).sum())
    with one_blas_thread():
        while n_solved < n_possible:
            last = min(n_solved + step, n_possible)
            run(solve, [(place, place + 1) for place in range(n_solved, last)], n_threads)
            n_solved, step = last, n_threads * SOLVED_TOGETHER
            worst = np.partition(values, k - 1)[k - 1] if len(values) >= k else np.inf
            if n_solved < n_possible and bounds[by_bound[n_solved]] > worst:
                break
    order = np.argsort(values, kind="stable")[:k].astype(np.int64)
    return Nearest(order, values[order], n_solved)


def lower_bounds(
    query: WeightedBag, candidates: WeightedBags, embeddings: NDArray[np.float32], n_threads: int = 1
) -> NDArray[np.float64]:
    """`rwmd` in double precision, (n_candidates,); float32 takes every row to be of norm 1, and rows kept in half
    precision are off by more than a lower bound may be. Takes checked bags."""
    try:
        from reranker.transport import batch
    except ImportError:  # no Numba
        return reference.distances(query, candidates, embeddings, "rwmd", Parameters()).values
    return batch.distances(query, candidates, embeddings, "rwmd", Parameters(), n_threads, precision="float64").values
