"""Finds the documents nearest to a query, by any method, without solving for all where bounds save the work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag, WeightedBags
from reranker.errors import BadInput, WrongParameter
from reranker.transport.cost_cache import CostCache
from reranker.transport.methods import ITERATED, check_method, distances
from reranker.transport.problem import (
    Distances,
    Parameters,
    at_places,
    check_embeddings,
    checked_candidates,
    checked_query,
)

_DEFAULTS = Parameters()


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The nearest documents.

    Attributes:
        order: (min(k, n_candidates),) places among the candidates, nearest first, ties in the order of the candidates;
            those with no known word last.
        distances: those of `order`, in its order, without offsets.
        n_solved: candidates whose transport was solved to the end; of `nbow` and `rwmd`, which need no pruning, all.
        raced: whether a race chose which were; if not, the nearest are certainly those of solving all.
    """

    order: NDArray[np.int64]
    distances: Distances
    n_solved: int
    raced: bool = False


def nearest_documents(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    k: int = 10,
    method: str = "sinkhorn",
    parameters: Parameters = _DEFAULTS,
    n_threads: int = 1,
    *,
    offsets: NDArray[np.float64] | None = None,
    race: bool = False,
    cost_cache: CostCache | None = None,
) -> Nearest:
    """The k candidates that `distances` puts first, with the same distances bit for bit.

    By `emd`, `sinkhorn`, `relaxed` and `auto`, lower bounds leave out candidates that cannot be among them
    (`pruning.py`).

    Args:
        k: how many, 1 or more.
        method, parameters, n_threads: as `distances`.
        offsets: (n_candidates,) finite numbers that are added to the distances before the k least are chosen and
            ordered: what else is known for or against a candidate. None: 0.
        race: let a few iterations of `sinkhorn`, `relaxed` or `auto` choose which candidates are solved at all
            (`races.py`). The order may then differ from that of solving all. Without effect on other methods, on 64
            candidates or fewer, and with Numba not installed; `Nearest.raced` tells.
        cost_cache: as `distances`.

    Raises:
        BadInput: as `distances`; or offsets of another number or not finite.
        WrongParameter: k or n_threads is below 1.

    >>> table = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    >>> bags = [WeightedBag(np.array([i], np.int32), np.ones(1)) for i in (2, 1, 0)]
    >>> found = nearest_documents(bags[2], WeightedBags.join(bags), table, k=1, method="emd")
    >>> found.order, found.distances.values, found.n_solved
    (array([2]), array([0.]), 1)
    """
    for name, number in (("k", k), ("n_threads", n_threads)):
        if number < 1:
            raise WrongParameter(f"{name} is {number}; give 1 or more")
    check_method(method)
    check_embeddings(embeddings)
    offsets = _checked_offsets(offsets, len(candidates))
    some = _solve_some(query, candidates, embeddings, k, method, parameters, n_threads, offsets, race, cost_cache)
    if some is None:
        found = distances(query, candidates, embeddings, method, parameters, n_threads, cost_cache=cost_cache)
        some = found, np.isfinite(found.values), False
    found, solved, raced = some
    order = np.argsort(found.values + offsets, kind="stable")[:k].astype(np.int64)
    return Nearest(order, at_places(found, order), int(np.count_nonzero(solved)), raced)


def _checked_offsets(offsets: NDArray[np.float64] | None, n_candidates: int) -> NDArray[np.float64]:
    if offsets is None:
        return np.zeros(n_candidates)
    checked = np.asarray(offsets, dtype=np.float64)
    if checked.shape != (n_candidates,):
        raise BadInput(f"offsets are of shape {checked.shape}; give one for each of the {n_candidates} candidates")
    if not np.isfinite(checked).all():
        raise BadInput(f"an offset is {checked[~np.isfinite(checked)][0]}; give finite numbers, 0 for no offset")
    return checked


def _solve_some(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    k: int,
    method: str,
    parameters: Parameters,
    n_threads: int,
    offsets: NDArray[np.float64],
    race: bool,
    cost_cache: CostCache | None,
) -> tuple[Distances, NDArray[np.bool_], bool] | None:
    """Distances (+inf where not solved), which candidates were solved, and whether a race chose them; None where all
    are to be solved."""
    try:
        from reranker.transport import pruning, races
    except ImportError:  # no Numba
        return None
    checked, documents = checked_query(query, embeddings), checked_candidates(candidates, len(embeddings))
    if race and races.is_race(method, parameters, len(documents)):
        raced = races.race(checked, documents, embeddings, method, parameters, offsets, n_threads, cost_cache)
        return *raced, True
    if k >= np.count_nonzero(np.diff(documents.offsets)):
        return None
    if method == "emd":
        solved = pruning.by_exact_transport(
            checked, documents, embeddings, parameters, k, offsets, n_threads, cost_cache
        )
        return *solved, False
    if method in ITERATED:
        solved = pruning.by_scaling(
            checked, documents, embeddings, method, parameters, k, offsets, n_threads, cost_cache
        )
        return *solved, False
    return None
